"""The fields of authorizations and charges, as they are sent."""

from laari.edge.input.fields import (
    Body,
    amount,
    choice,
    described,
    group,
    integer,
    text,
    timestamp,
    web_address,
)
from laari.edge.merchant.payments import AMOUNT, BILL, DESCRIPTION, REFERENCE, TITLE
from laari.rules.authorizations import AuthorizationDraft
from laari.rules.money import MAX_MONEY
from laari.rules.payments import PaymentDraft

TYPES = ("recurring", "unscheduled", "one_time")
INTERVALS = ("day", "week", "month", "year")
MAX_PAYMENTS = 4_294_967_295

PERIOD = group(
    "period",
    choice("interval", INTERVALS),
    described(amount("amount", 1, MAX_MONEY), "In laari; needs an interval."),
    prefix="period_",
    rule={
        "if": {"required": ["amount"], "properties": {"amount": {"not": {"type": "null"}}}},
        "then": {"required": ["interval"], "properties": {"interval": {"type": "string"}}},
    },
)
LIMITS = group(
    "limits",
    described(amount("per_payment", 1, MAX_MONEY), "In laari."),
    described(PERIOD, "Calendar periods of Maldives time; a week begins on Sunday."),
    described(amount("total", 1, MAX_MONEY), "In laari, over the whole life."),
    described(
        integer("max_payments", 1, MAX_PAYMENTS), "Left out or 1 where the type is `one_time`."
    ),
)
CREATE_AUTHORIZATION = Body(
    AuthorizationDraft,
    described(
        text("reference", 128, required=True),
        "Your own name for the authorization; no other authorization may have it.",
    ),
    described(text("title", 255, required=True), "What the customer agrees to."),
    DESCRIPTION,
    described(choice("type", TYPES), "`unscheduled` where it is left out."),
    described(LIMITS, "All that are given apply at once."),
    described(timestamp("expires_at"), "When charges end; never where it is left out."),
    described(web_address("return_url", 2048), "Where the customer goes after deciding."),
    name="AuthorizationCreate",
    examples={
        "an authorization": {
            "reference": "BOX-77",
            "title": "Monthly box",
            "type": "recurring",
            "limits": {"per_payment": 50000, "period": {"interval": "month", "amount": 50000}},
        }
    },
    rule={
        "if": {"required": ["type"], "properties": {"type": {"const": "one_time"}}},
        "then": {
            "properties": {"limits": {"properties": {"max_payments": {"enum": [1, None]}}}},
        },
    },
)
CHARGE_BODY = Body(
    PaymentDraft,
    REFERENCE,
    AMOUNT,
    TITLE,
    DESCRIPTION,
    BILL,
    name="ChargeCreate",
    examples={
        "a charge": {"reference": "BOX-77/2027-07", "amount": 45000, "title": "July's box"},
    },
)
