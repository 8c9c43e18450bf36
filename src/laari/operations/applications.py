"""The application of a merchant to go live, and the operator's decision."""

from dataclasses import replace
from uuid import UUID

from asyncpg import Connection
from msgspec import convert
from msgspec.structs import asdict

from laari.operations.fields import Amount, Field, Id, Text
from laari.operations.merchants import FEE_FIXED, FEE_PERCENT, MERCHANT
from laari.operations.operation import Operation, Shape, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import read_details
from laari.rules.banking.bank_file import MAX_HOLDER
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.limits.texts import MAX_DECISION, MAX_REASON
from laari.rules.merchants.applications import (
    ApproveMerchant,
    LiveTerms,
    RefuseApplication,
    SubmitApplication,
    WithdrawApplication,
)
from laari.rules.money import MAX_MONEY
from laari.rules.records.merchants import Application, ApplicationAnswers
from laari.rules.records.tenants import TenantSettings
from laari.store.bank_statements import Ask
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.reads.merchants import applications
from laari.store.reads.merchants.applications import Applied


async def find(connection: Connection, application_id: UUID) -> Applied | None:
    return await applications.find(connection, application_id)


def described(applied: Applied) -> dict[str, object]:
    merchant_name, found = applied
    return {
        "application_id": ids.show_id(ids.APPLICATION, found.id),
        "merchant_id": found.merchant_id,
        "merchant": merchant_name,
        "status": found.status,
        "submitted_at": show_time(found.submitted_at),
        "submitted_by": found.submitted_by,
        **asdict(found.answers),
        "decided_at": show_or_none(found.decided_at),
        "decided_by": found.decided_by,
        "reason": found.reason,
    }


_ID = Id(ids.APPLICATION, "an application's id")
APPLICATION = Subject(
    name="application",
    about="",
    fields=(Field("application_id", _ID, positional=True),),
    find=find,
    missing="no application has this id",
    shape=described,
)


def _submit(
    actor: Actor,
    merchant: Merchant,
    *,
    bank_holder: str,
    bank_name: str,
    bank_account: str,
    **others: object,  # the answers that only people read
) -> SubmitApplication:
    account = read_details(bank_holder, bank_name, bank_account)
    answers = {
        **others,
        "bank_holder": account.holder,
        "bank_name": account.bank,
        "bank_account": account.account_number,
    }
    return SubmitApplication(actor, merchant.id, convert(answers, ApplicationAnswers))


async def _shape(ask: Ask, merchant: Merchant, changed: Application) -> Shape:
    return described(Applied(merchant.name, changed))


SUBMIT = Operation(
    "application.submit",
    needs=SubmitApplication.permission,
    subject=MERCHANT,
    fields=(
        Field("legal_name", Text(255), "Name in the register."),
        Field("registration_number", Text(100), "Of the business."),
        Field("tax_number", Text(100), "If it is registered for tax.", "never"),
        Field("address", Text(500), "Of the business."),
        Field("bank_name", Text(MAX_HOLDER), "Bank for payouts."),
        Field("bank_holder", Text(MAX_HOLDER), "Holder of the account."),
        Field("bank_account", Text(40), "Account number."),
        Field("contact", Text(255), "Person and phone or email."),
        Field("monthly_volume", Amount(0, MAX_MONEY), "Expected sales of a month in laari."),
    ),
    run=command(_submit),
    shape=_shape,
    done="Your application is sent. The operator decides.",
    about="Apply for a merchant; this replaces its open application.",
)


def _withdraw(actor: Actor, merchant: Merchant) -> WithdrawApplication:
    return WithdrawApplication(actor, merchant.id)


WITHDRAW = Operation(
    "application.withdraw",
    needs=WithdrawApplication.permission,
    subject=MERCHANT,
    fields=(),
    run=command(_withdraw),
    shape=_shape,
    done="Your application is withdrawn.",
    about="Take back the open application of a merchant.",
)


def _refuse(actor: Actor, applied: Applied, reason: str) -> RefuseApplication:
    return RefuseApplication(actor, applied.application.id, reason)


REFUSE = Operation(
    "application.refuse",
    needs=RefuseApplication.permission,
    subject=APPLICATION,
    fields=(Field("reason", Text(MAX_DECISION), "Shown to the merchant."),),
    run=command(_refuse),
    done="The application is refused. The merchant reads the reason.",
    about="""Refuse an application; the merchant can apply again.

    `laari merchant approve` approves one.
    """,
)


def _approve(
    actor: Actor,
    merchant: Merchant,
    *,
    reason: str | None,
    application_id: UUID | None,
    percent: int | None,
    fixed: int | None,
    **payouts: object,  # `LiveTerms` that have the names of the fields
) -> ApproveMerchant:
    given = {name: value for name, value in payouts.items() if value is not None}
    live_terms = convert(given | {"fee_bps": percent, "fee_fixed": fixed}, LiveTerms)
    return ApproveMerchant(actor, merchant.id, live_terms, reason, application_id)


async def _approved_shape(ask: Ask, merchant: Merchant, made: TenantSettings) -> Shape:
    return {**merchants.described(await ask(merchants.show, merchant.id)), "approved": True}


APPROVE = Operation(
    "merchant.approve",
    needs=ApproveMerchant.permission,
    subject=MERCHANT,
    fields=(
        Field("reason", Text(MAX_DECISION), "Shown to the merchant.", "never"),
        Field("max_payment", Amount(1, MAX_PAYMENT_AMOUNT), "Largest payment in laari.", "never"),
        Field("minimum", Amount(1, MAX_MONEY), "Smallest payout in laari; default: 1.", "never"),
        Field("hold", Text(MAX_REASON), "Reason to pay out nothing; shown to it too.", "never"),
        replace(
            FEE_PERCENT,
            about="Fee in basis points; default: as it is.",
            required="never",
            typed="fee_bps",
        ),
        replace(
            FEE_FIXED,
            about="Fixed fee in laari; default: as it is.",
            required="never",
            typed="fee_fixed",
        ),
        Field(
            "application_id", _ID, "Only if this application is open.", "never", typed="application"
        ),
    ),
    run=command(_approve),
    shape=_approved_shape,
    done="The merchant is approved. Its people can switch to live mode.",
    about="""Let a merchant that signed up go live.

    Its own people choose the mode of the credentials then. An open application ends as approved,
    and payouts go to its bank account. `laari payout terms` ends a hold.
    """,
)
