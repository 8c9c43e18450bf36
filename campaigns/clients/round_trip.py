"""A round trip through a client that openapi-python-client has made; arguments: origin, key."""

import sys

from laari_api import AuthenticatedClient
from laari_api.api.events import list_events
from laari_api.api.payments import create_payment, get_payment, list_payments
from laari_api.api.sandbox_controls import (
    sandbox_move_clock,
    sandbox_pay_payment,
    sandbox_set_wallet,
)
from laari_api.api.wallet import wallet_balance
from laari_api.models import (
    HostedPaymentResponse,
    ListPaymentsStatus,
    PaymentCreate,
    PaymentEvent,
    SandboxClockMove,
    SandboxWalletSet,
)

AMOUNT = 9_999_999_999
BALANCE = 1_000_000_000_000

origin, key = sys.argv[1:]


def client_of(secret: str) -> AuthenticatedClient:
    return AuthenticatedClient(origin, token=secret, prefix="", auth_header_name="X-API-Key")


shop = client_of(key)
wallet = sandbox_set_wallet.sync(
    client=shop, body=SandboxWalletSet(balance=BALANCE, tier="business")
).data
assert wallet.balance == BALANCE

created = create_payment.sync(
    client=shop,
    body=PaymentCreate(reference="python", amount=AMOUNT),
    idempotency_key="python",
)
assert isinstance(created, HostedPaymentResponse), created
payment = created.data
assert (payment.amount, payment.status, payment.fee) == (AMOUNT, "pending", None)

paid = sandbox_pay_payment.sync(payment.id, client=shop).data
assert (paid.status, paid.fee + paid.net_amount) == ("paid", AMOUNT)

page = list_payments.sync(
    client=shop, status=ListPaymentsStatus.PAID, created_from=payment.created_at
)
assert [(each.id, each.amount) for each in page.data] == [(payment.id, AMOUNT)]
assert page.pagination.next_cursor is None
assert get_payment.sync(payment.id, client=shop).data.paid_at == paid.paid_at

events = list_events.sync(client=shop).data
assert [each.type_ for each in events] == ["payment.paid", "payment.created"]
assert all(isinstance(each, PaymentEvent) for each in events)
assert events[0].data.amount == AMOUNT

clock = sandbox_move_clock.sync(client=shop, body=SandboxClockMove(advance_seconds=3_000_000_000))
assert clock.data.offset_seconds == 3_000_000_000
sandbox_move_clock.sync(client=shop, body=SandboxClockMove(reset=True))

(balance,) = wallet_balance.sync(client=client_of(wallet.api_key)).data
assert balance.ledger_balance == (BALANCE - AMOUNT) / 100
print("done")
