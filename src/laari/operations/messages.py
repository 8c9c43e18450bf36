"""What the operator does with messages to people."""

from uuid import UUID

from asyncpg import Connection
from msgspec.structs import asdict

from laari.operations.fields import Field, Id
from laari.operations.operation import Operation, Subject, command
from laari.rules import ids
from laari.rules.actors import Actor
from laari.rules.calendar import show_or_none
from laari.rules.people.message_resends import ResendMessage
from laari.store.reads import messages
from laari.store.reads.messages import ListedMessage


async def find(connection: Connection, message_id: UUID) -> ListedMessage | None:
    return await messages.by_id(connection, message_id)


def message_shape(found: ListedMessage) -> dict[str, object]:
    times = {
        name: show_or_none(getattr(found, name))
        for name in ("created_at", "next_attempt_at", "sent_at")
    }
    return asdict(found) | {"id": ids.show_id(ids.MESSAGE, found.id)} | times


MESSAGE = Subject(
    name="message",
    about="",
    fields=(Field("message_id", Id(ids.MESSAGE, "a message id"), positional=True),),
    find=find,
    missing="there is no message with this id",
    shape=message_shape,
)


def _resend(actor: Actor, message: ListedMessage) -> ResendMessage:
    return ResendMessage(actor, message.id)


RESEND = Operation(
    "message.resend",
    needs=ResendMessage.permission,
    subject=MESSAGE,
    fields=(),
    run=command(_resend),
    done="The message is sent again.",
    about="Send a failed message again, with up to five attempts.",
)
