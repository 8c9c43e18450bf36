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
    *withdrawals.ROUTES,
    *keys.ROUTES,
]
