"""Forms with a file: multipart/form-data, read in pieces and within bounds."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from laari.http.messages import Request

MEDIA_TYPE = "multipart/form-data"
MAX_HEADERS = 4  # of a part; browsers send two
MAX_HEADER_BYTES = 1024
LONGEST_CONTENT_TYPE = 256  # characters
# The parser looks at each boundary byte by byte, and short ones fit more often into a file.
# Browsers have 38 characters and more; the standard allows 70.
BOUNDARY_LENGTHS = range(16, 71)
LONGEST_NAME = 255  # characters of a file's name


class MultipartError(Exception):
    """The body is not a form, or a form beyond the bounds."""


class UploadedFile(NamedTuple):
    name: str  # as the browser says: only to be shown
    content: bytes


class MultipartForm(NamedTuple):
    """The last field of a name counts, and the last file."""

    fields: dict[str, str]
    files: dict[str, UploadedFile]


async def read_multipart(http: Request, most_fields: int, longest_text: int) -> MultipartForm:
    """Raises `MultipartError`. `longest_text` are the bytes of all fields that are not files.

    The caller has bounded the whole body.
    """
    return await _read(_boundary(http), http.pieces(), most_fields, longest_text)


def _boundary(http: Request) -> bytes:
    content_type = http.headers.get(b"content-type", "")
    if len(content_type) > LONGEST_CONTENT_TYPE or not content_type.isascii():
        raise MultipartError
    boundary = parse_options_header(content_type)[1].get(b"boundary", b"")
    if len(boundary) not in BOUNDARY_LENGTHS:
        raise MultipartError
    return boundary


async def _read(
    boundary: bytes, pieces: AsyncIterator[bytes], most_fields: int, longest_text: int
) -> MultipartForm:
    parts = _Parts(most_fields, longest_text)
    parser = MultipartParser(
        boundary,
        {
            "on_part_begin": parts.begin,
            "on_header_field": parts.add_header_name,
            "on_header_value": parts.add_header_value,
            "on_header_end": parts.end_header,
            "on_headers_finished": parts.end_headers,
            "on_part_data": parts.add_data,
            "on_part_end": parts.end,
            "on_end": parts.end_all,
        },
        max_header_count=MAX_HEADERS,
        max_header_size=MAX_HEADER_BYTES,
    )
    try:
        async for piece in pieces:
            parser.write(piece)
    except FormParserError:
        raise MultipartError from None
    if not parts.is_complete:
        raise MultipartError
    return parts.form


class _Parts:
    """Receives the calls of the parser."""

    def __init__(self, most: int, longest_text: int) -> None:
        self.form = MultipartForm({}, {})
        self.is_complete = False
        self._parts_left = most
        self._text_left = longest_text
        self._begin_part()

    def _begin_part(self) -> None:
        self._header_name = self._header_value = self._disposition = b""
        self._name = ""
        self._file_name: str | None = None
        self._data: list[bytes] = []

    def begin(self) -> None:
        self._parts_left -= 1
        if self._parts_left < 0:
            raise MultipartError
        self._begin_part()

    def add_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def add_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            self._disposition = self._header_value
        self._header_name = self._header_value = b""

    def end_headers(self) -> None:
        kind, options = parse_options_header(self._disposition)
        if kind != b"form-data" or b"name" not in options:
            raise MultipartError
        self._name = _text(options[b"name"])
        if b"filename" in options:
            self._file_name = _text(options[b"filename"])[:LONGEST_NAME]

    def add_data(self, data: bytes, start: int, end: int) -> None:
        if self._file_name is None:
            self._text_left -= end - start
            if self._text_left < 0:
                raise MultipartError
        self._data.append(data[start:end])

    def end(self) -> None:
        content = b"".join(self._data)
        self._data.clear()
        if self._file_name is None:
            text = _text(content)
            if "\0" not in text:  # the database has none in texts
                self.form.fields[self._name] = text
        elif self._file_name or content:  # no file was chosen if it has neither
            self.form.files[self._name] = UploadedFile(self._file_name, content)

    def end_all(self) -> None:
        self.is_complete = True


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MultipartError from None
