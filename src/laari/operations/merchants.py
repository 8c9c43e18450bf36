"""What the operator and a shop's own people do with a merchant."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from asyncpg import Connection

from laari.operations.fields import (
    Amount,
    BasisPoints,
    Choice,
    Day,
    Field,
    Moment,
    Number,
    Removable,
    Switch,
    Text,
    reason,
)
from laari.operations.operation import Context, Operation, Shape, Subject, command
from laari.rules.actors import Actor
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none, start_of
from laari.rules.limits.keys_and_rates import OLD_KEY_LONGEST_HOURS
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.merchants.fee_terms import CancelFees, SetFees
from laari.rules.merchants.keys import EndOldKey, NewKey, RotateKey
from laari.rules.merchants.merchant_settings import (
    MAX_NAME,
    Changes,
    RenameMerchant,
    SetLimit,
    UpdateMerchant,
)
from laari.rules.money import MAX_FEE_FIXED
from laari.rules.records.merchants import MerchantSettings, ScheduledFees
from laari.rules.records.tenants import MODES, Mode, Tenant, TenantSettings
from laari.store.bank_statements import Ask
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.reads import fees, tenants

MERCHANT = Subject(
    name="shop",
    about="",
    fields=(Field("merchant_id", Text(100), positional=True),),
    find=merchants.find,
    missing="no merchant has the id {merchant_id}",
    shape=merchants.described,
)


async def find_tenant(connection: Connection, merchant: str, mode: Mode) -> Tenant | None:
    return await tenants.in_mode(connection, merchant, mode)


TENANT = Subject(
    "merchant",
    "",
    (
        Field("merchant", Text(100), positional=True, typed="merchant_id"),
        Field("mode", Choice(MODES), "Mode of the merchant's money.", default="live"),
    ),
    find_tenant,
    "no merchant has the id {merchant} in {mode} mode",
)

# == Settings =====================================================================================


def _rename(actor: Actor, merchant: Merchant, name: str) -> RenameMerchant:
    return RenameMerchant(actor, merchant.id, name)


RENAME = Operation(
    "merchant.rename",
    needs=RenameMerchant.permission,
    subject=MERCHANT,
    fields=(Field("name", Text(MAX_NAME), positional=True),),
    run=command(_rename),
    done="The public name is changed.",
    about="""Change the public name of a merchant.

    Customers see it when they pay. Earlier payments keep the name that they had.
    """,
)


def _set_limit(
    actor: Actor, tenant: Tenant, max_payment: int | None, reason: str | None
) -> SetLimit:
    return SetLimit(actor, tenant.id, max_payment, reason)


async def _limit_shape(ask: Ask, tenant: Tenant, changed: TenantSettings) -> Shape:
    return {
        "merchant_id": tenant.merchant_id,
        "mode": tenant.mode,
        "max_payment": changed.max_payment,
    }


SET_LIMIT = Operation(
    "merchant.set-limit",
    needs=SetLimit.permission,
    subject=TENANT,
    fields=(
        Field(
            "max_payment",
            Amount(1, MAX_PAYMENT_AMOUNT),
            "In laari; omit it for no limit.",
            required="never",
        ),
        reason(),
    ),
    run=command(_set_limit),
    shape=_limit_shape,
    done="The limit is set.",
    about="""Limit the amount of a merchant's payments.

    This applies to new payments, requests and charges.
    """,
)


async def _change(context: Context, merchant: Merchant, changes: Changes) -> object:
    allow_private = context.settings.webhook_allow_private
    return await context.submit(UpdateMerchant(context.actor, merchant.id, changes, allow_private))


async def _pause(context: Context, merchant: Merchant, reason: str | None) -> object:
    return await _change(context, merchant, Changes(active=False, inactive_reason=reason))


PAUSE = Operation(
    "merchant.pause",
    needs=UpdateMerchant.permission,
    subject=MERCHANT,
    fields=(reason(about="Shown to the merchant."),),
    run=_pause,
    done="The merchant is paused and takes no payments.",
    about="""Pause a merchant: it takes no payments.

    Its credentials are refused until it is resumed.
    """,
)


async def _resume(context: Context, merchant: Merchant) -> object:
    return await _change(context, merchant, Changes(active=True))


RESUME = Operation(
    "merchant.resume",
    needs=UpdateMerchant.permission,
    subject=MERCHANT,
    fields=(),
    run=_resume,
    done="The merchant is active again.",
    about="End the pause of a merchant.",
)


async def _set_mode(context: Context, merchant: Merchant, mode: Mode) -> object:
    return await _change(context, merchant, Changes(mode=mode))


SET_MODE = Operation(
    "merchant.set-mode",
    needs="mode.change",
    subject=MERCHANT,
    fields=(Field("mode", Choice(MODES), "Mode of its credentials.", "on pages"),),
    run=_set_mode,
    done="Your credentials now act in the other mode.",
    typed="merchant update",
    about="Choose the mode in which a merchant's credentials act.",
)


async def _set_webhook(
    context: Context, merchant: Merchant, webhook_url: str, webhooks: bool
) -> object:
    changes = Changes(webhook_url=webhook_url, webhooks_enabled=webhooks)
    return await _change(context, merchant, changes)


SET_WEBHOOK = Operation(
    "merchant.set-webhook",
    needs="webhooks.manage",
    subject=MERCHANT,
    fields=(
        Field(
            "webhook_url",
            Removable(),
            "Send events to this URL; '' removes it.",
            "never",
            label="URL",
        ),
        Field("webhooks", Switch(), "Send events or not.", "never"),
    ),
    run=_set_webhook,
    done="Your webhook settings are saved.",
    typed="merchant update",
    about="Choose the URL of a merchant's webhooks, and whether events are sent.",
)

# == Fees =========================================================================================


async def fee_shapes(ask: Ask, merchant_id: str) -> list[Shape]:
    """Scheduled, present and past fees."""
    return [
        {
            "since": show_time(each.since),
            "fee_bps": each.fee_bps,
            "fee_fixed": each.fee_fixed,
            "scheduled": each.is_scheduled,
        }
        for each in await ask(fees.terms_of, merchant_id)
    ]


async def _fees_after(ask: Ask, merchant: Merchant, changed: bool | ScheduledFees) -> list[Shape]:
    return await fee_shapes(ask, merchant.id)


FEE_PERCENT = Field("percent", BasisPoints(), "Fee in basis points.", typed="bps")
FEE_FIXED = Field("fixed", Amount(0, MAX_FEE_FIXED), "Fixed fee in laari.")


def _set_fees(
    actor: Actor,
    merchant: Merchant,
    *,
    percent: int,
    fixed: int,
    first_day: date | None,
    reason: str | None,
) -> SetFees:
    starts_at = None if first_day is None else start_of(first_day)
    return SetFees(actor, merchant.id, percent, fixed, starts_at=starts_at, reason=reason)


SET_FEES = Operation(
    "merchant.set-fees",
    needs=SetFees.permission,
    subject=MERCHANT,
    fields=(
        FEE_PERCENT,
        FEE_FIXED,
        Field("first_day", Day(), "First Maldivian day; default: now.", "never", typed="from"),
        reason(),
    ),
    run=command(_set_fees),
    shape=_fees_after,
    done="The fees are set.",
    about="Change a merchant's fees now, or from a day on.",
)


def _cancel_fees(actor: Actor, merchant: Merchant, starts_at: datetime) -> CancelFees:
    return CancelFees(actor, merchant.id, starts_at)


CANCEL_FEES = Operation(
    "merchant.cancel-fees",
    needs=CancelFees.permission,
    subject=MERCHANT,
    fields=(Field("starts_at", Moment(), "Their first day or moment.", typed="from"),),
    run=command(_cancel_fees),
    shape=_fees_after,
    done="The scheduled fees are cancelled.",
    about="""Cancel fees that have not begun.

    `laari merchant fees` lists them.
    """,
)

# == Several settings at once =====================================================================


async def _update(
    context: Context,
    merchant: Merchant,
    *,
    webhooks: bool | None,
    percent: int | None,
    fixed: int | None,
    reason: str | None,
    **others: Any,  # `Changes` that have the names of the fields
) -> object:
    changes = Changes(
        webhooks_enabled=webhooks,
        fee_bps=percent,
        fee_fixed=fixed,
        inactive_reason=reason,
        **others,
    )
    return await _change(context, merchant, changes)


# One command, so that a wrong value leaves all others as they are.
UPDATE = Operation(
    "merchant.update",
    needs=UpdateMerchant.permission,
    subject=MERCHANT,
    fields=(
        *SET_MODE.fields,
        Field("active", Switch("inactive"), "Accept or refuse its credentials.", "never"),
        *SET_WEBHOOK.fields,
        replace(FEE_PERCENT, required="never", typed="fee_bps"),
        replace(FEE_FIXED, required="never", typed="fee_fixed"),
        reason(about="With --inactive: shown to the merchant."),
    ),
    run=_update,
    done="The merchant is changed.",
    about="""Change a merchant; omitted options stay as they are.

    --mode live approves a merchant that signed up.
    """,
)

# == The secret key ===============================================================================


async def _key_shape(ask: Ask, merchant: Merchant, changed: NewKey | MerchantSettings) -> Shape:
    """The merchant after the change, and a new key once."""
    found = await ask(merchants.show, merchant.id)
    shown = {**merchants.described(found), "old_key_until": show_or_none(found.old_key_until)}
    return shown | ({"secret_key": changed.secret_key} if isinstance(changed, NewKey) else {})


def _rotate(actor: Actor, merchant: Merchant, overlap: int, mark: str | None = None) -> RotateKey:
    return RotateKey(actor, merchant.id, timedelta(hours=overlap), mark)


ROTATE_KEY = Operation(
    "merchant.rotate-key",
    needs="keys.manage",
    subject=MERCHANT,
    fields=(
        Field(
            "overlap",
            Number(0, OLD_KEY_LONGEST_HOURS),
            f"Hours until the old key stops working; at most {OLD_KEY_LONGEST_HOURS} "
            f"({OLD_KEY_LONGEST_HOURS // 24} days).",
            default="0",
        ),
        Field("mark", Text(100), of_page=True),
    ),
    run=command(_rotate),
    shape=_key_shape,
    done="The new secret key is shown once.",
    about="""Replace a merchant's secret key.

    Both keys work until the overlap ends. Webhooks are signed with the old key until then, and with
    the new key from then on.

    With --overlap 0 all earlier keys stop working at once, also the old key of a running overlap.
    Use it if a key is stolen.
    """,
)


def _end_old_key(actor: Actor, merchant: Merchant) -> EndOldKey:
    return EndOldKey(actor, merchant.id)


END_OLD_KEY = Operation(
    "merchant.end-old-key",
    needs=EndOldKey.permission,
    subject=MERCHANT,
    fields=(),
    run=command(_end_old_key),
    shape=_key_shape,
    done="The old key no longer works. Webhooks are signed with the new one.",
    about="""End the old key of a rotation now.

    Webhooks are signed with the new key from now on.
    """,
)
