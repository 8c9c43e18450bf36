"""The addresses of the dashboard."""

from laari.edge.pages.dashboard import (
    account,
    authorizations,
    entrance,
    export,
    keys,
    movements,
    new_link,
    overview,
    payments,
    requests,
    sandbox,
    signup,
    webhooks,
)

ROUTES = [
    *entrance.ROUTES,  # first: `/dashboard/login` is no mode
    *signup.ROUTES,
    *account.ROUTES,
    *overview.ROUTES,
    *new_link.ROUTES,
    *export.ROUTES,
    *movements.ROUTES,
    *payments.ROUTES,
    *requests.ROUTES,
    *authorizations.ROUTES,
    *webhooks.ROUTES,
    *keys.ROUTES,
    *sandbox.ROUTES,
]
