"""The customer's wallet application at `/app`."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.wallet import (
    account,
    authorizations,
    contact,
    customer_signup,
    forgotten,
    home,
    keys,
    receipts,
    requests,
    statement,
    trusted,
    withdrawals,
)

ROUTES: Routes = [
    *account.ROUTES,
    *forgotten.ROUTES,
    *contact.ROUTES,
    *customer_signup.ROUTES,
    *home.ROUTES,
    *receipts.ROUTES,
    *statement.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *trusted.ROUTES,
    *withdrawals.ROUTES,
    *keys.ROUTES,
]
