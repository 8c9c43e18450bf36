"""Receipts: any line of a customer's history by email or SMS, when the customer asks for it."""

from dataclasses import dataclass
from uuid import UUID

from laari.rules.command import Command
from laari.rules.limits.messages import RECEIPTS_A_DAY
from laari.rules.messages import ReceiptContent, send
from laari.rules.needs import Needs
from laari.rules.records.messages import Channel, Recipient
from laari.rules.records.people import Customer
from laari.rules.records.tenants import Mode
from laari.rules.records.wallets import Transaction
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


def channels_to(
    mode: Mode, email: str | None, mobile: str | None, channels: frozenset[str]
) -> list[Channel]:
    """The channels by which the service can reach a customer."""
    contacts: dict[Channel, str | None] = {"email": email, "sms": mobile}
    return [
        channel
        for channel, contact in contacts.items()
        if mode == "live" and contact is not None and channel in channels
    ]


@dataclass(frozen=True, slots=True)
class SendReceipt(Command[Transaction]):
    """Sends a line to its customer by the channel that they chose, a few times in a day.

    `words` says what the line is, in the customer's language.
    """

    customer_id: UUID
    account: int
    tid: str
    channel: Channel
    words: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.customers, self.customer_id)
        needs.read(World.receipts_sent, self.customer_id)
        needs.read(World.lines, self.tid)

    def decide(self, world: World) -> Transaction | Refusal:
        customer = world.customers[self.customer_id]
        line = world.lines.get(self.tid)
        if line is None or line.account != self.account or line.status != "success":
            return refuse("not_found")
        reached = channels_to(customer.mode, customer.email, customer.mobile, world.channels)
        if self.channel not in reached:
            return refuse("conflict", "The service cannot reach you this way.")
        if world.receipts_sent[self.customer_id] >= RECEIPTS_A_DAY:
            return refuse("rate_limited", "You cannot have more receipts in one day.")
        world.receipts_sent[self.customer_id] += 1
        content = ReceiptContent(
            line=self.words,
            amount=line.amount if line.type == "adjustment" else abs(line.amount),
            details=line.details,
            time=line.time,
            reference=line.tid,
            link=f"{world.origin}/app/transactions/{line.tid}",
        )
        send(world, _by(self.channel, customer), "receipt", content)
        return line


def _by(channel: Channel, customer: Customer) -> Recipient:
    email, mobile = (customer.email, None) if channel == "email" else (None, customer.mobile)
    return Recipient(email, mobile, customer.language, customer.id)
