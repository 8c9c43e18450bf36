"""A customer's bank account and withdrawals, on the customer's page of the desk."""

from laari.edge.pages.operator.customers import CUSTOMER, page_of
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.request import FormProblem, Problem, read_count
from laari.edge.pages.routes import Routes
from laari.http.messages import Reply
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.money import read_rufiyaa
from laari.rules.records import BankDetails
from laari.store.reads.holders import Holder


async def _withdraw(request: OperatorRequest, holder: Holder) -> Reply | Problem:
    amount = read_rufiyaa(request.form.get("amount", ""))
    if amount is None:
        return FormProblem(422, "The amount must be in rufiyaa, such as 125.50.")
    last = read_count(request.form.get("last", ""))
    command = RequestWithdrawal(request.actor, holder.account, amount, if_last=last)
    await request.submit(command)
    return request.redirect(page_of(holder), done="withdrawn")


async def _save_bank(request: OperatorRequest, holder: Holder) -> Reply | Problem:
    name, bank = (" ".join(request.form.get(each, "").split()) for each in ("holder", "bank"))
    number = "".join(request.form.get("number", "").split())
    command = AddBankAccount(request.actor, holder.account, BankDetails(name, bank, number))
    done = await request.move(command, "bank_account")
    return request.redirect(page_of(holder), done=done)


ROUTES: Routes = [
    CUSTOMER.form("/withdraw", _withdraw, needs="wallets.move"),
    CUSTOMER.form("/bank", _save_bank, needs="wallets.move"),
]
