"""What a shop and the operator do with the OAuth clients of a merchant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from laari.operations.fields import Field, FieldError, Text, seen
from laari.operations.merchants import MERCHANT
from laari.operations.operation import Context, Operation, Shape, Subject, command
from laari.rules.actors import Actor
from laari.rules.calendar import LAST_SHOWN, read_timestamp, show_or_none
from laari.rules.calendar import show as show_time
from laari.rules.merchants.keys import MAX_NAME, CreateClient, NewClient, RevokeClient
from laari.rules.merchants.scopes import DEFAULT_SCOPES, SCOPES
from laari.rules.refusals import Refusal
from laari.rules.tokens import write_scope
from laari.store.bank_statements import Ask
from laari.store.merchants import oauth
from laari.store.merchants.merchants import Merchant
from laari.store.merchants.oauth import Client

MAX_DIGITS = 4  # of a number of days


@dataclass(frozen=True, slots=True)
class Scopes:
    """Names of scopes. Only the command line makes a client without any."""

    def read(self, written: str, *, on_page: bool) -> str:
        names = frozenset(written.split())
        if unknown := sorted(names - SCOPES.keys()):
            known = ", ".join(SCOPES)
            raise FieldError(f"must not have the unknown scope {unknown[0]}. Known: {known}.")
        if on_page and not names:
            raise FieldError("must name at least one scope.")
        return write_scope(names)


@dataclass(frozen=True, slots=True)
class End:
    """A number of days from now, or a moment."""

    def read(self, written: str, *, on_page: bool) -> timedelta | datetime:
        text = written.strip()
        is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        if is_number and int(text):
            return timedelta(days=int(text))
        moment = read_timestamp(text)
        if moment is None or moment >= LAST_SHOWN:
            raise FieldError("must be a number of days or a later date: 90, 2027-12-31.")
        return moment


def described(client: Client) -> dict[str, object]:
    return {
        "client_id": client.id,
        "merchant_id": client.merchant_id,
        "name": client.name,
        "scopes": client.scope.split(),
        "created_at": show_time(client.created_at),
        "expires_at": show_or_none(client.expires_at),
        "last_used_at": show_or_none(client.last_used_at),
        "revoked_at": show_or_none(client.revoked_at),
    }


CLIENT = Subject(
    name="client",
    about="",
    fields=(Field("client_id", Text(100), positional=True),),
    find=oauth.find,
    missing="no client has the id {client_id}",
    shape=described,
)


async def _create(
    context: Context,
    merchant: Merchant,
    *,
    scopes: str | None,
    name: str | None,
    expires: timedelta | datetime | None,
    clients: int | None = None,
) -> NewClient | Refusal:
    end = context.now + expires if isinstance(expires, timedelta) else expires
    scope = write_scope(frozenset(DEFAULT_SCOPES)) if scopes is None else scopes
    return await context.submit(
        CreateClient(context.actor, merchant.id, scope, name, end, made_before=clients)
    )


async def _new_shape(ask: Ask, merchant: Merchant, made: NewClient) -> Shape:
    """The client, and its secret once."""
    client = await ask(oauth.find, made.client.id)
    assert client is not None  # clients stay
    return {**described(client), "client_secret": made.secret}


CREATE = Operation(
    "client.create",
    needs=CreateClient.permission,
    subject=MERCHANT,
    fields=(
        Field(
            "scopes",
            Scopes(),
            "Scopes, separated by spaces; default: all but payments:refund, balance:read and "
            "payouts:read.",
            "on pages",
            typed="scope",
        ),
        Field("name", Text(MAX_NAME), "Name for people.", "never"),
        Field(
            "expires",
            End(),
            "End of the client and its tokens, as days or a date; default: never. A date means its "
            "first moment, in Maldives time.",
            "never",
        ),
        seen("clients"),
    ),
    run=_create,
    shape=_new_shape,
    done="The client's secret is shown once.",
    about="""Create a client of a merchant and print its secret.

    The secret is not shown again.
    """,
)


def _revoke(actor: Actor, client: Client) -> RevokeClient:
    return RevokeClient(actor, client.id)


REVOKE = Operation(
    "client.revoke",
    needs=RevokeClient.permission,
    subject=CLIENT,
    fields=(),
    run=command(_revoke),
    done="The client is revoked; its tokens no longer work.",
    about="Revoke a client; its tokens stop working at once.",
)
