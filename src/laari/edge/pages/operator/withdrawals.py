"""A customer's bank account and withdrawals, on the customer's page of the desk."""

from laari.edge.pages.operator.customers import CUSTOMER, page_of
from laari.edge.pages.operator.forms import form
from laari.edge.pages.routes import Routes
from laari.operations.wallets import ADD_BANK, WITHDRAW

ROUTES: Routes = [
    form(CUSTOMER, "/withdraw", WITHDRAW, page_of),
    form(CUSTOMER, "/bank", ADD_BANK, page_of),
]
