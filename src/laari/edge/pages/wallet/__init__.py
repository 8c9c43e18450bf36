"""The customer's wallet application at `/app`."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.wallet import account, authorizations, forgotten, home, keys, requests

ROUTES: Routes = [
    *account.ROUTES,
    *forgotten.ROUTES,
    *home.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *keys.ROUTES,
]
