"""A message that could not be sent, and is sent again."""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, note
from laari.rules.needs import Needs
from laari.rules.people.permissions import Permission, lacks
from laari.rules.records.messages import OutboxMessage
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class ResendMessage(Command[OutboxMessage]):
    """Sends a failed message as if it were new: the text and the recipient stay."""

    permission: ClassVar[Permission] = "messages.resend"
    actor: Actor
    message_id: UUID

    def needs(self, needs: Needs) -> None:
        needs.lock(World.outbox, self.message_id)

    def busy(self) -> Refusal:
        return refuse("conflict", "This message is being sent. Try again.")

    def decide(self, world: World) -> OutboxMessage | Refusal:
        refusal = lacks(self.actor, self.permission)
        if refusal is not None:
            return refusal
        message = world.outbox.get(self.message_id)
        if message is None:
            return refuse("not_found", "There is no such message.")
        if message.status != "failed":
            return refuse("conflict", f"This message has not failed: it is {message.status}.")
        again = replace(message, status="pending", attempts=0, next_attempt_at=world.now)
        world.outbox.change(message.id, again)
        note(
            world,
            Act(self.actor, "message.resend"),
            "message",
            ids.show_id(ids.MESSAGE, message.id),
            merchant_id=None,
            mode=None,
            before={"status": message.status, "attempts": message.attempts},
            after={"status": again.status, "attempts": again.attempts},
        )
        return again
