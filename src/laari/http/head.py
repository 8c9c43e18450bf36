"""The head of a request, read strictly by RFC 9112: one with two meanings is refused.

Possessive quantifiers keep every pattern linear in its input.
"""

import re
from ipaddress import IPv6Address
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from laari.rules.refusals import Refusal, refuse

Field: TypeAlias = tuple[bytes, bytes]

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_LINE = re.compile(rb"(%b{1,32}+) ([\x21-\x7e]++) HTTP/(\d)\.(\d)" % _TOKEN)
_FIELD = rb"%b++:[^\x00-\x08\x0a-\x1f\x7f]*+" % _TOKEN
_ONE_FIELD = re.compile(_FIELD)
_FIELDS = re.compile(rb"(?:\r\n%b)*+" % _FIELD)
_AUTHORITY = re.compile(
    rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]++|\[(?P<v6>[0-9A-Fa-f:.]{2,45}+)\])(?::(?P<port>[0-9]{0,5}))?+"
)
_LAST_PORT = 65_535
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]++)")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_ENCODED_SLASH = re.compile("%2[Ff]")
_LISTS = frozenset({b"transfer-encoding", b"connection"})  # those that are read here

# More than our clients send, and little enough to read in a millisecond. Each is counted before
# anything is split or decoded.
MAX_TARGET_BYTES = 8 * 1024  # RFC 9112 has every server take 8,000
MAX_PARAMETERS = 100
MAX_ITEMS = 20  # of a list that this server reads

_LINE_START = re.compile(rb"(?P<method>%b{1,32}+) (?P<target>[\x21-\x7e]++)" % _TOKEN)
_START_BYTES = 1024
_LONGEST_PATH = 200  # bytes: the path of the token endpoint, even if all of it is percent-encoded

CHUNKED = -1  # the length of a body that says where it ends


class Fields(NamedTuple):
    """The fields of a head. On one connection, clients repeat them exactly."""

    raw: bytes
    pairs: list[Field]  # names in lower case; nobody may change it
    by_name: dict[bytes, str]  # repeated ones joined as HTTP says; nobody may change it
    hosts: list[bytes]
    length: int | Refusal  # of the body, or CHUNKED; as HTTP/1.1 has it
    closes: bool
    expects_continue: bool


class Head(NamedTuple):
    method: str
    path: str  # decoded, but for encoded slashes: they separate nothing
    raw_path: bytes
    query: bytes
    fields: Fields
    length: int  # of the body, or CHUNKED
    keep_alive: bool
    expects_continue: bool
    http_version: str


class Fault(NamedTuple):
    """The refusal of a request, and its path if that could be read."""

    refusal: Refusal
    path: str | None = None
    method: str = ""


def read_head(head: bytes, most_fields: int, last: Fields | None = None) -> Head | Fault:
    """Reads a head without the empty line that ends it; `last` are the fields of the one before."""
    line_end = head.find(b"\r\n")
    if line_end < 0:
        line_end = len(head)
    line = _REQUEST_LINE.fullmatch(head, 0, line_end)
    if line is None:
        return _fault("The request line is malformed.")
    method, target, major, minor = line.groups()
    # A proxy takes the bytes after CONNECT for a tunnel, and not for requests.
    if major != b"1" or method == b"CONNECT":
        return _fault("This server speaks HTTP/1.1 and is not a proxy.")
    place = _read_target(target)
    if place is None:
        return _fault("The request target is malformed.", method.decode("ascii"))
    raw_path, query, authority = place
    asked = method.decode("ascii")
    path = _decode(raw_path[:MAX_TARGET_BYTES])
    excess = _excess(target, query)
    if excess is not None:
        return Fault(excess, path, asked)
    raw = head[line_end:]
    fields = last if last is not None and last.raw == raw else _read_fields(raw, most_fields)
    if isinstance(fields, Refusal):
        return Fault(fields, path, asked)
    modern = minor != b"0"
    refusal = _check_host(fields.hosts, authority, required=modern)
    if refusal is not None:
        return Fault(refusal, path, asked)
    length = fields.length
    if length == CHUNKED and not modern:
        length = refuse("invalid_request", "HTTP/1.0 has no Transfer-Encoding.")
    if isinstance(length, Refusal):
        return Fault(length, path, asked)
    return Head(
        asked,
        path,
        raw_path,
        query,
        fields,
        length,
        modern and not fields.closes,
        modern and fields.expects_continue,
        "1.1" if modern else "1.0",
    )


def unread_fault(refusal: Refusal, start: bytes | bytearray) -> Fault:
    """The fault of a head that is not read to its end, with the path and method of its start.

    A path too long for this service is cut; an incomplete one is left out.
    """
    line = _LINE_START.match(start[:_START_BYTES])
    if line is None or (line.end() == len(start) and len(line["target"]) < _LONGEST_PATH):
        return Fault(refusal)
    place = _read_target(line["target"])
    if place is None:
        return Fault(refusal)
    return Fault(refusal, _decode(place[0][:_LONGEST_PATH]), line["method"].decode("ascii"))


def is_field(line: bytes) -> bool:
    return _ONE_FIELD.fullmatch(line) is not None


def _fault(message: str, method: str = "") -> Fault:
    return Fault(refuse("invalid_request", message), method=method)


def _read_target(target: bytes) -> tuple[bytes, bytes, bytes | None] | None:
    """Path, query and, if the target is a whole URL, its authority."""
    authority = None
    if not target.startswith(b"/"):
        url = _ABSOLUTE.match(target)
        if url is None:  # `*`, or a target for a proxy
            return None
        authority, target = url[1], target[url.end() :] or b"/"
        if target.startswith(b"?"):
            target = b"/" + target
    if b"#" in target:
        return None
    path, _, query = target.partition(b"?")
    return path, query, authority


def _excess(target: bytes, query: bytes) -> Refusal | None:
    if len(target) > MAX_TARGET_BYTES:
        message = f"The address has more than {MAX_TARGET_BYTES:,} bytes."
    elif query.count(b"&") >= MAX_PARAMETERS:
        message = f"The query has more than {MAX_PARAMETERS} parameters."
    else:
        return None
    return refuse("invalid_request", message)


def _decode(raw_path: bytes) -> str:
    path = raw_path.decode("ascii")
    if "%" not in path:
        return path
    return "%2F".join(unquote(part) for part in _ENCODED_SLASH.split(path))


def _read_fields(raw: bytes, most: int) -> Fields | Refusal:
    """Each line begins with the CRLF that ended the previous one."""
    if _FIELDS.fullmatch(raw) is None:
        return refuse("invalid_request", "A header field is malformed.")
    lines = raw.split(b"\r\n")[1:]
    if len(lines) > most:
        return refuse("header_too_large", f"At most {most} header fields.")
    pairs: list[Field] = []
    by_name: dict[bytes, str] = {}
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    closes = expects_continue = False
    for each in lines:
        name, _, value = each.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        pairs.append((name, value))
        text = value.decode("latin-1")
        by_name[name] = f"{by_name[name]}, {text}" if name in by_name else text
        if name == b"host":
            hosts.append(value)
        elif name == b"content-length":
            lengths.append(value)
        elif name in _LISTS and value.count(b",") >= MAX_ITEMS:
            return refuse("invalid_request", f"{name.decode()} lists more than {MAX_ITEMS} items.")
        elif name == b"transfer-encoding":
            codings += _items(value)
        elif name == b"connection":
            closes = closes or b"close" in _items(value)
        elif name == b"expect":
            expects_continue = value.lower() == b"100-continue"
    length = _read_length(lengths, codings)
    return Fields(raw, pairs, by_name, hosts, length, closes, expects_continue)


def _items(value: bytes) -> list[bytes]:
    return [each.strip(b" \t").lower() for each in value.split(b",")]


def _check_host(hosts: list[bytes], authority: bytes | None, *, required: bool) -> Refusal | None:
    if not hosts and not required:
        return None
    if len(hosts) != 1 or not _is_authority(hosts[0]):
        return refuse("invalid_request", "Exactly one valid Host is required.")
    if authority is not None and authority.lower() != hosts[0].lower():
        return refuse("invalid_request", "Host and the request target differ.")
    return None


def _is_authority(host: bytes) -> bool:
    read = _AUTHORITY.fullmatch(host)
    if read is None or int(read["port"] or 0) > _LAST_PORT:
        return False
    if read["v6"] is None:
        return True
    try:
        IPv6Address(read["v6"].decode("ascii"))
    except ValueError:
        return False
    return True


def _read_length(lengths: list[bytes], codings: list[bytes]) -> int | Refusal:
    """The length of the body, if no two readers could disagree about it."""
    if codings:
        if lengths:
            return refuse("invalid_request", "Send Content-Length or Transfer-Encoding.")
        if codings[-1] != b"chunked" or b"chunked" in codings[:-1]:
            return refuse("invalid_request", "Transfer-Encoding must be chunked.")
        if len(codings) > 1:
            return refuse("not_implemented", "Transfer-Encoding must be chunked.")
        return CHUNKED
    if not lengths:
        return 0
    if len(lengths) > 1 or _DIGITS.fullmatch(lengths[0]) is None:
        return refuse("invalid_request", "Content-Length must be one number.")
    return int(lengths[0])
