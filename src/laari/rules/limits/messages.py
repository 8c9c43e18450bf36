"""How many messages are sent: in an hour, to one person, about one merchant.

`LAARI_SMS_PER_HOUR` bounds all SMS; `laari.workers.messages.delivery` applies it.
"""

from typing import get_args

from laari.rules.limits.throttle import Throttle
from laari.rules.records.messages import Channel, MessageKind

SMS_PER_HOUR = 1000  # LAARI_SMS_PER_HOUR; more wait
# Messages of a kind to one customer in 24 hours, about one merchant or (withdrawals) about none.
# Nobody reads more, and an SMS costs money. The wallet has the requests themselves.
MOST_OF_A_MERCHANT: dict[MessageKind, int] = {
    "payment_request": 10,
    "charge": 20,
    "refund": 20,
    "trusted_payment": 20,
}
# Asked for again within 24 hours, the recipient has it already.
ONCE_ABOUT_ONE: frozenset[MessageKind] = frozenset({"trust_asked"})
# What somebody waits for in front of a page.
CODES: frozenset[MessageKind] = frozenset(
    {"password_link", "password_code", "signup_code", "contact_code"}
)
# The part of an hour's SMS that only codes may use, and the kinds that leave it to them. Anybody
# can cause notices: nobody could log in any more.
RESERVED_PART = 0.2
CAN_WAIT: frozenset[MessageKind] = frozenset(get_args(MessageKind)) - CODES

# Messages of a kind to one address or number in 24 hours, of all who cause them. The first ones
# tell a victim what happens, and a customer must not use up the SMS of all others. More SMS of what
# many merchants cause, and of what is asked for. An email costs nothing.
SMS_OF_A_KIND = 10
SMS_OF_A_BUSY_KIND = 30
EMAILS_OF_A_KIND = 100
_BUSY: frozenset[MessageKind] = CODES | {*MOST_OF_A_MERCHANT, "receipt"}

RECEIPTS_A_DAY = 20  # that a customer can have sent in 24 hours: an SMS costs money
# Links and codes that somebody asks for cost money and patience: few to one person, more from a
# shared address.
LINKS_PER_PERSON = Throttle(3, 600)
LINKS_PER_PERSON_EVERYWHERE = Throttle(5, 1800)
LINKS_PER_ADDRESS = Throttle(20, 60)


def most_to_one(channel: Channel, kind: MessageKind) -> int:
    """The messages of this kind that one recipient gets in 24 hours."""
    if channel == "email":
        return EMAILS_OF_A_KIND
    return SMS_OF_A_BUSY_KIND if kind in _BUSY else SMS_OF_A_KIND
