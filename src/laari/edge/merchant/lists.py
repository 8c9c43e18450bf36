"""Listings: their query parameters, cursors and pages."""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from laari.edge.input.cursors import Cursors
from laari.edge.input.fields import Field, Schema, choice, described, text
from laari.rules.calendar import read_timestamp
from laari.rules.refusals import Refusal, invalid
from laari.rules.shapes.envelopes import Page, Pagination, to_json
from laari.rules.shapes.fields import CURSOR_EXAMPLE
from laari.store.reads.listing import Found, Listed, Position, Window

R = TypeVar("R", bound=Listed)

DEFAULT_LIMIT = 20
MAX_LIMIT = 100

BILL_NUMBER_CHARACTERS = re.compile(r"[A-Za-z0-9 \-_./]+", re.ASCII)
BILL_NUMBER_CHARSET = "letters, digits, space, - _ . and /"


class PageQuery(Struct, frozen=True, kw_only=True):
    limit: int = DEFAULT_LIMIT
    after: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None


class ListQuery(PageQuery, frozen=True, kw_only=True):
    """With the filters of payments, payment requests and authorizations."""

    status: str | None = None
    reference: str | None = None
    terminal_label: str | None = None
    bill_number: str | None = None

    @property
    def filters(self) -> dict[str, str]:
        """Those that were given."""
        names = ("status", "reference", "terminal_label", "bill_number")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _read_limit(value: object, name: str) -> int | Refusal:
    if not isinstance(value, str) or not re.fullmatch(r"-?\d+", value, re.ASCII):
        return invalid(name, "limit must be an integer.")
    if value.startswith("-"):
        return 1
    digits = value.lstrip("0")
    return MAX_LIMIT if len(digits) > 3 else min(max(int(digits or "0"), 1), MAX_LIMIT)


def _read_bound(value: object, name: str) -> datetime | Refusal:
    written = str(value)
    moment = read_timestamp(written)
    if moment is not None:
        return moment
    # A form reads a bare + as a space.
    date, space, offset = written.rpartition(" ")
    hint = "; write + as %2B" if space and read_timestamp(f"{date}+{offset}") else ""
    return invalid(name, f"{name} must be an RFC 3339 date or timestamp{hint}.")


def _bound(name: str, meaning: str) -> Field:
    schema: Schema = {
        "type": "string",
        "format": "date-time",  # what clients send; people may write a date
        "examples": ["2027-07-01T00:00:00+05:00"],
        "description": f"{meaning} A date means midnight; the default offset is +05:00.",
    }
    return Field(name, _read_bound, schema)


LIMIT = Field(
    "limit",
    _read_limit,
    {
        "type": "integer",
        "format": "int64",  # every integer is taken, and clamped
        "default": DEFAULT_LIMIT,
        "description": "Values outside 1 to 100 become the nearest of the two.",
    },
)
AFTER = Field(
    "after",
    lambda value, name: value or None,
    {
        "type": "string",
        "examples": [CURSOR_EXAMPLE],
        "description": "The `next_cursor` of the previous page. An unknown cursor starts at the "
        "first page.",
    },
)
CREATED_FROM = _bound("created_from", "Created at or after this time.")
CREATED_TO = _bound("created_to", "Created before this time.")
# Refused if blank: a shop with an empty variable would take the first payment of all for its own.
REFERENCE = replace(
    described(
        text("reference", 100, required=True), "The exact reference: at most one payment has it."
    ),
    required=False,
)
TERMINAL_LABEL = described(text("terminal_label", 10), "The exact label.")
BILL_NUMBER = described(
    text("bill_number", 25, pattern=BILL_NUMBER_CHARACTERS, charset=BILL_NUMBER_CHARSET),
    "The exact bill number.",
)


def status_filter(*values: str) -> Field:
    return choice("status", values)


def read_window(query: PageQuery, cursors: Cursors, listing: str, owner: int) -> Window | Refusal:
    """The part of the listing to show; an unknown cursor starts at the first page."""
    created_from, created_to = query.created_from, query.created_to
    if created_from is not None and created_to is not None and created_from >= created_to:
        return invalid("created_from", "created_from must be earlier than created_to.")
    after = None if query.after is None else cursors.read(listing, owner, query.after)
    return Window(
        limit=query.limit,
        after=None if after is None else Position(*after),
        created_from=created_from,
        created_to=created_to,
    )


def page_body(
    shapes: Iterable[object],
    found: Found[R],
    window: Window,
    cursors: Cursors,
    listing: str,
    *,
    owner: int,
) -> bytes:
    cursor = None if found.next is None else cursors.make(listing, owner, *found.next)
    pagination = Pagination(window.limit, has_more=cursor is not None, next_cursor=cursor)
    return to_json(Page(list(shapes), pagination))
