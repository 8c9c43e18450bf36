"""How many messages are sent: in an hour, to one person, about one merchant.

`LAARI_SMS_PER_HOUR` bounds all SMS; `laari.workers.messages.delivery` applies it.
"""

from laari.rules.limits.throttle import Throttle
from laari.rules.records.messages import MessageKind

SMS_PER_HOUR = 1000  # LAARI_SMS_PER_HOUR; more wait
# Messages of a kind to one customer in 24 hours, about one merchant or (withdrawals) about none.
# Nobody reads more, and an SMS costs money. The wallet has the requests themselves.
MOST_OF_A_MERCHANT: dict[MessageKind, int] = {
    "payment_request": 10,
    "charge": 20,
    "refund": 20,
    "trusted_payment": 20,
}
# The part of an hour's SMS that only codes and notices may use, which somebody waits for, and the
# kinds that leave it to them.
RESERVED_PART = 0.2
CAN_WAIT: frozenset[MessageKind] = frozenset({*MOST_OF_A_MERCHANT, "receipt"})

RECEIPTS_A_DAY = 20  # that a customer can have sent in 24 hours: an SMS costs money
# Links and codes that somebody asks for cost money and patience: few to one person, more from a
# shared address.
LINKS_PER_PERSON = Throttle(3, 600)
LINKS_PER_PERSON_EVERYWHERE = Throttle(5, 1800)
LINKS_PER_ADDRESS = Throttle(20, 60)
