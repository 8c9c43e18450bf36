"""Withdrawals: a customer sends money of the wallet to a bank account of the same name."""

from laari.edge.pages.login import confirm
from laari.edge.pages.passkeys import log_in as passkeys
from laari.edge.pages.render import money
from laari.edge.pages.request import Access, RefusedForm, read_count
from laari.edge.pages.routes import PageRoute
from laari.edge.pages.spending import frozen_words
from laari.edge.pages.wallet.request import PAGE, WalletRequest
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.banking.bank_accounts import (
    AddBankAccount,
    coming,
    in_effect,
    masked,
    read_details,
)
from laari.rules.banking.withdrawals import CancelWithdrawal, RequestWithdrawal
from laari.rules.money import read_rufiyaa
from laari.rules.refusals import Refusal
from laari.rules.wallets import seen_by_customer
from laari.store.reads.money import payouts

PATH = "/app/withdraw"
_REFUSED = {
    "conflict": "withdraw.changed",
    "invalid_request": "withdraw.smallest",
    "insufficient_balance": "withdraw.too_much",
    "payout_not_possible": "withdraw.no_bank",
}


class WithdrawalRequest(WalletRequest):
    """A page that exists for live customers, if the operator offers withdrawals."""

    async def enter(self, access: Access) -> Reply | None:
        return await super().enter(access) or (
            None if self.minimum is not None else self.no_such_page()
        )


async def show(request: WithdrawalRequest) -> Reply:
    account, ask = request.customer.account, request.backend.ask
    status = await request.backend.wallets.get(account)
    assert status is not None  # a customer has a wallet, and wallets stay
    wallet = seen_by_customer(status.wallet)
    accounts = (await ask(payouts.bank_accounts, [account]))[account]
    made = await ask(payouts.of_wallet, account, PAGE)
    orders = await ask(payouts.orders, [each.id for each in made if each.returned_amount])
    return request.page(
        "withdraw.html",
        balance=wallet.balance,
        frozen=frozen_words(request, wallet) if wallet.frozen_at is not None else None,
        account=in_effect(accounts, request.now),
        coming=coming(accounts, request.now),
        masked=masked,
        withdrawals=made,
        returned=[each for each in orders if each.return_reason is not None],
        last=made[0].number if made else 0,
        shown_id=lambda payout: ids.show_id(ids.PAYOUT, payout.id),
    )


async def withdraw(request: WithdrawalRequest) -> Reply:
    amount = read_rufiyaa(request.form.get("amount", ""))
    if amount is None:
        raise RefusedForm(422, request.language.text("choice.no_amount"))
    await passkeys.confirm(request, request.customer)
    account, last = request.customer.account, read_count(request.form.get("last", ""))
    assert request.minimum is not None  # or the page would not exist
    command = RequestWithdrawal(request.actor, account, amount, request.minimum, last)
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        raise await _in_words(request, outcome)
    return request.go(f"{PATH}?done=withdrawn")


async def _in_words(request: WithdrawalRequest, refusal: Refusal) -> RefusedForm:
    """A silent freeze is not named."""
    name = _REFUSED.get(refusal.code)
    if name is not None:
        minimum = money(request.minimum or 0)
        return RefusedForm(409, request.language.text(name, amount=minimum))
    if refusal.code != "wallet_limit_exceeded":
        return RefusedForm(refusal.status, request.language.text("approval.busy"))
    status = await request.backend.wallets.get(request.customer.account)
    assert status is not None
    return RefusedForm(409, frozen_words(request, status.wallet))


async def save_bank(request: WithdrawalRequest) -> Reply:
    """Needs the password again. The holder is the customer, as the service knows them."""
    await confirm(request, request.customer, always=True)
    bank, number = request.form.get("bank", ""), request.form.get("number", "")
    details = read_details(request.customer.name, bank, number)
    command = AddBankAccount(request.actor, request.customer.account, details)
    added = await request.backend.spine.submit(command)
    if isinstance(added, Refusal):
        # The holder is the customer's own name, which the page does not ask for.
        name = f"withdraw.bad_{added.field}" if added.field else "approval.busy"
        raise RefusedForm(422, request.language.text(name))
    return request.go(f"{PATH}?done=bank")


async def cancel(request: WithdrawalRequest) -> Reply:
    id = ids.read_id(ids.PAYOUT, request.params["id"])
    if id is None:
        return request.no_such_page()
    command = CancelWithdrawal(request.actor, request.customer.account, id)
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        is_missing = outcome.code == "not_found"
        if is_missing:
            return request.no_such_page()
        raise RefusedForm(409, request.language.text("withdraw.on_its_way"))
    return request.go(f"{PATH}?done=cancelled")


ROUTES = [
    PageRoute(WithdrawalRequest, "/withdraw", get=show, post=withdraw),
    PageRoute(WithdrawalRequest, "/withdraw/bank", post=save_bank, page=show),
    PageRoute(WithdrawalRequest, "/withdraw/{id}/cancel", post=cancel, page=show),
]
