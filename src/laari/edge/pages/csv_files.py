"""CSV files for spreadsheets, of any length: of the dashboard, the desk and the wallet."""

import csv
import io
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from typing import Protocol, TypeVar

from laari.edge.backend import Backend
from laari.edge.pages.bidi import closed
from laari.http.messages import Reply, Stream, StreamEnded

T = TypeVar("T")
N = TypeVar("N")  # a place in a list

# Writing a page takes a millisecond or two, in which every other request of this process waits.
ROWS_AT_ONCE = 100
# A payment's metadata can have 100 KB, and a page of such payments would take most of a second.
# A piece ends with the row that passes this length.
METADATA_AT_ONCE = 64 * 1024
BYTE_ORDER_MARK = "\ufeff"  # without it, spreadsheets do not read the file as UTF-8

# A spreadsheet reads a cell that begins with one of these as a formula, which could read other
# cells or open addresses. Keyboards for Chinese, Japanese or Korean write the wide forms.
_FORMULA_STARTS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
# A spreadsheet may end a cell at one of these: in many countries it splits a CSV file at
# semicolons, and quotes inside such a cell protect neither separators nor line breaks.
_CELL_ENDS = ";|\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
# It may drop these before it looks at a cell's first character: blanks, quotes, zero-width.
_DROPPED = (
    '"\x00-\x08\x0e-\x1b\x1f \x7f\xa0\xad\u1680\u180e\u2000-\u200f'
    "\u202a-\u202f\u205f-\u2064\u3000\ufeff"
)
_BEFORE_FORMULA = re.compile(
    f"(?:^(?=[\t\r\n])|(?:^|(?<=[{_CELL_ENDS}]))(?=[{_DROPPED}]*[{_FORMULA_STARTS}]))"
)


def guarded(text: str) -> str:
    """Text in which no spreadsheet finds a formula, wherever it splits the file into cells."""
    return _BEFORE_FORMULA.sub("'", closed(text))


class Exporting(Protocol):
    """The request of somebody who reads a file."""

    @property
    def backend(self) -> Backend: ...

    @property
    def file_owner(self) -> Hashable:
        """Whose the file is, such as a merchant: owners take turns."""

    async def may_still_export(self) -> bool: ...


def file_reply(request: Exporting, name: str, lines: AsyncGenerator[bytes, None]) -> Reply:
    place = ExitStack()
    place.enter_context(request.backend.heavy.exports.place(request.file_owner))
    # It counts as an export until the last line is sent or the client has disconnected.
    return csv_reply(name)._replace(stream=Stream(lines, place.close))


def csv_reply(name: str, content: bytes = b"") -> Reply:
    """A file that the browser saves under this name."""
    attached = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    return Reply(200, content, headers=(attached,), content_type=b"text/csv; charset=utf-8")


async def csv_lines(
    request: Exporting,
    columns: list[str],
    find: Callable[[N | None], Awaitable[tuple[Sequence[T], N | None]]],
    length_of: Callable[[T], int],
    cells: Callable[[T], dict[str, str]],
) -> AsyncGenerator[bytes, None]:
    """Reads a page at a time with `find`; no connection is held while the client reads.

    A person who loses the permission meanwhile gets an incomplete file.
    """
    heavy, owner = request.backend.heavy, request.file_owner
    yield (BYTE_ORDER_MARK + csv_text([columns])).encode()
    after: N | None = None
    while True:
        async with heavy.reading.slot(owner):
            if not await request.may_still_export():
                raise StreamEnded
            rows, after = await find(after)
        for piece in in_pieces(rows, length_of):
            async with heavy.merchants.writing.slot(owner):
                written = [cells(row) for row in piece]
                text = csv_text([[row[name] for name in columns] for row in written]).encode()
            yield text
        if after is None:
            return


def in_pieces(rows: Sequence[T], length_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Splits the rows of a page by the length of their texts."""
    piece: list[T] = []
    length = 0
    for row in rows:
        piece.append(row)
        length += length_of(row)
        if length >= METADATA_AT_ONCE:
            yield piece
            piece, length = [], 0
    if piece:
        yield piece


def csv_text(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
