"""The customer's wallet application at `/app`: what the wallet holds, is asked for and allows."""

from laari.edge.pages.wallet import account, authorizations, home, keys, requests

ROUTES = [
    *account.ROUTES,
    *home.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *keys.ROUTES,
]
