"""What the operator does with a merchant's balance, payouts and bank account, and with fees."""

from functools import partial
from typing import Literal

from msgspec import UNSET

from laari.operations.fields import MOVED, Amount, Field, Switch, Text, flag, reason
from laari.operations.merchants import TENANT
from laari.operations.operation import Operation, Otherwise, Shape, command, plain
from laari.operations.payouts import merchant_shape, payout_shape
from laari.operations.wallets import BANK_FIELDS, bank_account_shape
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount, read_details
from laari.rules.banking.merchant_money import Funds, MoveFunds, SweepFees
from laari.rules.banking.payouts import RequestPayout
from laari.rules.limits.texts import MAX_REASON
from laari.rules.merchants.payout_terms import ChangePayoutTerms, NewTerms
from laari.rules.money import MAX_FEE_FIXED, MAX_MONEY
from laari.rules.records.bank import FeeSweep
from laari.rules.records.payouts import Payout, PayoutTerms
from laari.rules.records.tenants import Tenant
from laari.store.bank_statements import Ask
from laari.store.reads.money.bank import earned_fees

_AMOUNT = Field("amount", Amount(1, MAX_MONEY), positional=True, typed="laari")
_REASON = reason("always", "Kept with it.")

# == The balance ==================================================================================


def _moving(
    kind: Literal["hold", "release", "merchant_adjustment"],
    actor: Actor,
    tenant: Tenant,
    *,
    amount: int,
    reason: str,
    below_zero: bool = False,
    moved: int | None = None,
) -> MoveFunds:
    return MoveFunds(
        tenant_id=tenant.id,
        actor=actor,
        kind=kind,
        amount=amount,
        reason=reason,
        below_zero=below_zero,
        if_moved=moved,
    )


async def _shape(ask: Ask, tenant: Tenant, after: Funds) -> Shape:
    return {"merchant_id": tenant.merchant_id, "mode": tenant.mode, **after._asdict()}


HOLD = Operation(
    "merchant.hold",
    needs=MoveFunds.permission,
    subject=TENANT,
    fields=(_AMOUNT, _REASON, MOVED),
    run=command(partial(_moving, "hold")),
    shape=_shape,
    done="The balance is changed.",
    about="""Hold a part of a merchant's balance.

    Payouts and refunds cannot use it.
    """,
)
RELEASE = Operation(
    "merchant.release",
    needs=MoveFunds.permission,
    subject=TENANT,
    fields=(_AMOUNT, _REASON, MOVED),
    run=command(partial(_moving, "release")),
    shape=_shape,
    done="The balance is changed.",
    about="Release held money of a merchant.",
)
CORRECT = Operation(
    "merchant.adjust",
    needs=MoveFunds.permission,
    subject=TENANT,
    fields=(
        Field("amount", Amount(-MAX_MONEY, MAX_MONEY), positional=True, typed="laari"),
        _REASON,
        flag("below_zero", "Allow a negative balance."),
        MOVED,
    ),
    run=command(partial(_moving, "merchant_adjustment")),
    shape=_shape,
    done="The balance is changed.",
    about="""Correct a merchant's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """,
)


# == Payouts ======================================================================================


def _request(actor: Actor, tenant: Tenant) -> RequestPayout:
    return RequestPayout(tenant.id, actor)


async def _requested_shape(ask: Ask, tenant: Tenant, requested: Payout) -> Shape:
    return payout_shape(requested, tenant)


def _is_sent(requested: Payout) -> bool:
    return requested.status == "sent"


REQUEST = Operation(
    "payout.request",
    needs=RequestPayout.permission,
    subject=TENANT,
    fields=(),
    run=command(_request),
    shape=_requested_shape,
    done="The payout is requested. The next payout run takes it.",
    otherwise=Otherwise(_is_sent, "The payout of the sandbox is sent."),
    about="""Pay out all that one merchant has.

    The next run takes the payout. In a sandbox it is sent at once.
    """,
)


def _set_terms(
    actor: Actor,
    tenant: Tenant,
    *,
    payout_minimum: int | None,
    payout_fee: int | None,
    on_request: bool | None,
    paused_reason: str | None,
    resume: bool,
) -> ChangePayoutTerms:
    is_named = paused_reason is not None or resume
    new = NewTerms(
        minimum=UNSET if payout_minimum is None else payout_minimum,
        fee=UNSET if payout_fee is None else payout_fee,
        on_request=UNSET if on_request is None else on_request,
        paused_reason=paused_reason if is_named else UNSET,
    )
    return ChangePayoutTerms(actor, tenant.id, new)


async def terms_shape(ask: Ask, tenant: Tenant, terms: PayoutTerms) -> Shape:
    return {
        **merchant_shape(tenant),
        "mode": tenant.mode,
        "minimum": terms.minimum,
        "fee": terms.fee,
        "on_request": terms.on_request,
        "paused_reason": terms.paused_reason,
    }


SET_TERMS = Operation(
    "payout.terms",
    needs=ChangePayoutTerms.permission,
    subject=TENANT,
    fields=(
        Field(
            "payout_minimum",
            Amount(1, MAX_MONEY),
            "Smallest payout in laari.",
            "on pages",
            typed="minimum",
        ),
        Field(
            "payout_fee",
            Amount(0, MAX_FEE_FIXED),
            "Fee of a payout in laari.",
            "on pages",
            typed="fee",
        ),
        Field("on_request", Switch("not-on-request"), "Its people may ask for one.", "never"),
        Field(
            "paused_reason",
            Text(MAX_REASON),
            "Reason to pay out nothing until resumed.",
            "never",
            typed="pause",
        ),
        flag("resume", "End a pause."),
    ),
    run=command(_set_terms),
    shape=terms_shape,
    done="The terms of payouts are set.",
    about="Show or change the terms of payouts.",
)


def _add_bank(actor: Actor, tenant: Tenant, holder: str, bank: str, number: str) -> AddBankAccount:
    return AddBankAccount(actor, tenant.id, read_details(holder, bank, number))


ADD_BANK = Operation(
    "merchant.bank",
    needs=AddBankAccount.own_permission,
    subject=TENANT,
    fields=BANK_FIELDS,
    run=command(_add_bank),
    shape=plain(bank_account_shape),
    done="The bank account is saved. It is used after 48 hours.",
    about="""Show a merchant's bank accounts, or add one.

    In live mode it is used after 48 hours, and its owners get a notice. In a sandbox the first one
    is used at once.
    """,
)

# == Earned fees ==================================================================================


def _sweep(actor: Actor, amount: int, moved: int | None = None) -> SweepFees:
    return SweepFees(actor, "live", amount, if_moved=moved)


async def _swept_shape(ask: Ask, subject: None, swept: FeeSweep) -> Shape:
    left = (await ask(earned_fees, ["live"]))["live"]
    return {"sweep": swept.number, "amount": swept.amount, "fees_left": left.balance}


SWEEP: Operation[None] = Operation(
    "fees.sweep",
    needs=SweepFees.permission,
    fields=(_AMOUNT, MOVED),
    run=command(_sweep),
    shape=_swept_shape,
    done="The sweep is recorded.",
    about="Record that earned fees were taken out of the live bank account.",
)
