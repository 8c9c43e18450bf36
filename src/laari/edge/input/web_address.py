"""Addresses that a customer's browser is sent to: a merchant's `return_url`."""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

LONGEST_HOST = 253  # characters, as in the domain name system
LONGEST_LABEL = 63

_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f\\<>\"]")
_LABEL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_FULL_STOP = "\u3002"  # browsers read the ideographic one as a dot


def is_web_address(url: str) -> bool:
    """Whether it is an absolute http or https URL without credentials, with a host to go to."""
    if _NOT_IN_URLS.search(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises an error if it is not the number of a port
        host = parts.hostname or ""
        is_literal = "[" in parts.netloc
        return (
            parts.scheme in ("http", "https")
            and "@" not in parts.netloc
            and (_is_v6(host) if is_literal else _is_host(host))
        )
    except ValueError:
        return False


def _is_v6(host: str) -> bool:
    """Without a zone, which is local to a machine."""
    return "%" not in host and bool(IPv6Address(host))


def _is_host(host: str) -> bool:
    """A name, or an IPv4 address. Nothing in it is percent-encoded."""
    host = unicodedata.normalize("NFKC", host).replace(_FULL_STOP, ".").removesuffix(".")
    labels = host.split(".")
    if len(host) > LONGEST_HOST or not all(map(_is_label, labels)):
        return False
    return not labels[-1].isdecimal() or bool(IPv4Address(host))


def _is_label(label: str) -> bool:
    if not 1 <= len(label) <= LONGEST_LABEL:
        return False
    if label.isascii():
        return _LABEL.fullmatch(label) is not None
    # A name in another script: visible characters, and no ASCII with another meaning.
    return all(c.isprintable() if c > "\x7f" else _LABEL.fullmatch(c) for c in label)
