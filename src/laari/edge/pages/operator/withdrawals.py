"""A customer's bank account and withdrawals, on the customer's page of the desk."""

from laari.edge.pages.operator.customers import CUSTOMER, page_of
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal
from laari.store.merchants import bank_accounts
from laari.store.reads.holders import Holder


async def _withdraw(request: OperatorRequest, holder: Holder) -> Reply | Problem:
    amount = read_rufiyaa(request.form.get("amount", ""))
    if amount is None:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    await request.confirm()
    last = read_count(request.form.get("last", ""))
    command = RequestWithdrawal(request.actor, holder.account, amount, if_last=last)
    await request.submit(command)
    return request.redirect(page_of(holder), done="withdrawn")


async def _save_bank(request: OperatorRequest, holder: Holder) -> Reply | Problem:
    if holder.mode != "live":
        return FormProblem(409, "Only customers with real money have a bank account.")
    await request.confirm()
    name, bank = (" ".join(request.form.get(each, "").split()) for each in ("holder", "bank"))
    number = "".join(request.form.get("number", "").split())
    added = await request.backend.write(
        bank_accounts.add,
        *(holder.account, name, bank, number, request.actor, request.backend.settings.channels),
    )
    if isinstance(added, Refusal):
        return FormProblem(422, added.message)
    return request.redirect(page_of(holder), done="bank_account")


ROUTES: Routes = [
    CUSTOMER.form("/withdraw", _withdraw, needs="wallets.move"),
    CUSTOMER.form("/bank", _save_bank, needs="wallets.move"),
]
