"""The head of a request: its line and its fields, read strictly.

Whatever two programs could understand differently is refused (RFC 9112 is the grammar): a proxy in
front and this server must never disagree about where a request ends. Every pattern here is linear
in its input; possessive quantifiers keep them so.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from laari.rules.refusals import Refusal, refuse

Field: TypeAlias = tuple[bytes, bytes]

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_LINE = re.compile(rb"(%b{1,32}+) ([\x21-\x7e]++) HTTP/(\d)\.(\d)" % _TOKEN)
_FIELD = rb"%b++:[^\x00-\x08\x0a-\x1f\x7f]*+" % _TOKEN
_ONE_FIELD = re.compile(_FIELD)
_FIELDS = re.compile(rb"(?:\r\n%b)*+" % _FIELD)
_AUTHORITY = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]++|\[[0-9A-Fa-f:.]++\])(?::[0-9]{0,5})?+")
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]++)")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_ENCODED_SLASH = re.compile("%2[Ff]")

CHUNKED = -1  # the length of a body that says where it ends


class Head(NamedTuple):
    method: str
    path: str  # decoded, but for encoded slashes: they separate nothing
    raw_path: bytes
    query: bytes
    fields: list[Field]  # names in lower case
    length: int  # of the body, or CHUNKED
    keep_alive: bool
    expects_continue: bool
    http_version: str


class Fault(NamedTuple):
    """What is wrong with a request, and the path it named where that could be read."""

    refusal: Refusal
    path: str | None = None


def read_head(head: bytes, most_fields: int) -> Head | Fault:
    """Reads a head without the empty line that ends it."""
    line_end = head.find(b"\r\n")
    line = _REQUEST_LINE.fullmatch(head, 0, len(head) if line_end < 0 else line_end)
    if line is None:
        return _fault("The request line is malformed.")
    method, target, major, minor = line.groups()
    if major != b"1":
        return _fault("This server speaks HTTP/1.1.")
    place = _read_target(target)
    if place is None:
        return _fault("The request target is malformed.")
    raw_path, query, authority = place
    path = _decode(raw_path)
    if _FIELDS.fullmatch(head, line.end()) is None:
        return _fault("A header field is malformed.", path)
    lines = head[line.end() + 2 :].split(b"\r\n") if line_end >= 0 else []
    if len(lines) > most_fields:
        return Fault(refuse("header_too_large", f"At most {most_fields} header fields."), path)
    fields: list[Field] = []
    for each in lines:
        name, _, value = each.partition(b":")
        fields.append((name.lower(), value.strip(b" \t")))
    modern = minor != b"0"
    notable = _read_notable(fields)
    refusal = _check_host(notable.hosts, authority, required=modern)
    length = _read_length(notable, modern) if refusal is None else refusal
    if isinstance(length, Refusal):
        return Fault(length, path)
    return Head(
        method.decode("ascii"),
        path,
        raw_path,
        query,
        fields,
        length,
        modern and b"close" not in notable.connection,
        modern and notable.expects_continue,
        "1.1" if modern else "1.0",
    )


def is_field(line: bytes) -> bool:
    return _ONE_FIELD.fullmatch(line) is not None


def _fault(message: str, path: str | None = None) -> Fault:
    return Fault(refuse("invalid_request", message), path)


def _read_target(target: bytes) -> tuple[bytes, bytes, bytes | None] | None:
    """Path, query and, where the target is a whole URL, its authority."""
    authority = None
    if not target.startswith(b"/"):
        url = _ABSOLUTE.match(target)
        if url is None:  # `*`, and what only a proxy understands
            return None
        authority, target = url[1], target[url.end() :] or b"/"
        if target.startswith(b"?"):
            target = b"/" + target
    if b"#" in target:
        return None
    path, _, query = target.partition(b"?")
    return path, query, authority


def _decode(raw_path: bytes) -> str:
    path = raw_path.decode("ascii")
    if "%" not in path:
        return path
    return "%2F".join(unquote(part) for part in _ENCODED_SLASH.split(path))


class _Notable(NamedTuple):
    """The fields that say how the connection and the body are to be treated."""

    hosts: list[bytes]
    lengths: list[bytes]
    codings: list[bytes]
    connection: set[bytes]
    expects_continue: bool


def _read_notable(fields: list[Field]) -> _Notable:
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    connection: set[bytes] = set()
    expects_continue = False
    for name, value in fields:
        if name == b"host":
            hosts.append(value)
        elif name == b"content-length":
            lengths.append(value)
        elif name == b"transfer-encoding":
            codings += [each.strip(b" \t").lower() for each in value.split(b",")]
        elif name == b"connection":
            connection.update(each.strip(b" \t").lower() for each in value.split(b","))
        elif name == b"expect":
            expects_continue = value.lower() == b"100-continue"
    return _Notable(hosts, lengths, codings, connection, expects_continue)


def _check_host(hosts: list[bytes], authority: bytes | None, *, required: bool) -> Refusal | None:
    if not hosts and not required:
        return None
    if len(hosts) != 1 or _AUTHORITY.fullmatch(hosts[0]) is None:
        return refuse("invalid_request", "Exactly one valid Host is required.")
    if authority is not None and authority.lower() != hosts[0].lower():
        return refuse("invalid_request", "Host and the request target differ.")
    return None


def _read_length(notable: _Notable, modern: bool) -> int | Refusal:
    """How long the body is, where no two readers could disagree about it."""
    if notable.codings:
        if notable.lengths:
            return refuse("invalid_request", "Send Content-Length or Transfer-Encoding.")
        if not modern or notable.codings[-1] != b"chunked" or b"chunked" in notable.codings[:-1]:
            return refuse("invalid_request", "Transfer-Encoding must be chunked.")
        if len(notable.codings) > 1:
            return refuse("not_implemented", "Transfer-Encoding must be chunked.")
        return CHUNKED
    if not notable.lengths:
        return 0
    if len(notable.lengths) > 1 or _DIGITS.fullmatch(notable.lengths[0]) is None:
        return refuse("invalid_request", "Content-Length must be one number.")
    return int(notable.lengths[0])
