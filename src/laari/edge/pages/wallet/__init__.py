"""The customer's wallet application at `/app`."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.wallet import (
    account,
    authorizations,
    contact,
    forgotten,
    home,
    keys,
    receipts,
    requests,
    signup,
    statement,
    trusted,
    withdrawals,
)

ROUTES: Routes = [
    *account.ROUTES,
    *forgotten.ROUTES,
    *contact.ROUTES,
    *signup.ROUTES,
    *home.ROUTES,
    *receipts.ROUTES,
    *statement.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *trusted.ROUTES,
    *withdrawals.ROUTES,
    *keys.ROUTES,
]
