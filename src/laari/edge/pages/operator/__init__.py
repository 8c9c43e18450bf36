"""The operator's desk: search, customers, merchants, money and health."""

from laari.edge.pages import own_account
from laari.edge.pages.operator import (
    bank,
    cases,
    contacts,
    customers,
    float,
    health,
    identities,
    journal,
    merchant_money,
    merchants,
    messages,
    payouts,
    search,
    service_settings,
    wallet_money,
    withdrawals,
)
from laari.edge.pages.operator.request import OperatorRequest, OperatorVisitor
from laari.edge.pages.routes import Routes

ROUTES: Routes = [
    *own_account.routes(OperatorVisitor, OperatorRequest),
    *search.ROUTES,
    *customers.ROUTES,
    *contacts.ROUTES,
    *cases.ROUTES,
    *withdrawals.ROUTES,
    *identities.ROUTES,
    *merchants.ROUTES,
    *merchant_money.ROUTES,
    *wallet_money.ROUTES,
    *payouts.ROUTES,
    *bank.ROUTES,
    *float.ROUTES,
    *health.ROUTES,
    *service_settings.ROUTES,
    *journal.ROUTES,
    *messages.ROUTES,
]
