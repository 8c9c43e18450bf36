"""Addresses of clients, read in one way for throttles and for trusted proxies.

A socket that listens on `::` names IPv4 clients as IPv4 inside IPv6 (`::ffff:192.0.2.1`), and some
proxies write a port behind an address. Both stand for the same client, so both read as the same
address.
"""

import re
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

NEIGHBOUR_BITS_V4, NEIGHBOUR_BITS_V6 = 24, 48
CLIENT_PREFIX_BITS = 64  # of an IPv6 address: one customer of a provider has all the rest

_MOST_PROXIES = 20  # in a row: what stands before them is not looked at
_LONGEST = 80  # characters: brackets, an IPv6 address with its zone, and a port
_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]*)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?", re.ASCII)


def read_address(text: str) -> Address | None:
    """The address in `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`."""
    text = text.strip()
    return _read(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)  # every request asks, and most connections carry many
def _read(text: str) -> Address | None:
    bracketed = _WITH_PORT.fullmatch(text)
    if bracketed is not None:
        text = bracketed["v6"] if bracketed["v6"] is not None else bracketed["v4"]
    try:
        address = ip_address(text.partition("%")[0])  # a zone is this machine's name for a link
    except ValueError:
        return None
    if address.version == 6 and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_trusted(address: str, networks: Networks) -> bool:
    """Whether it is in one of the networks, such as those of trusted proxies."""
    if not networks:
        return False
    read = read_address(address)
    return read is not None and any(read in network for network in networks)


def client_address(peer: str, forwarded_for: str, trusted_proxies: Networks) -> str:
    """Whom the nearest trusted proxy was asked by; what stands further left anyone may write.

    Where `X-Forwarded-For` does not say, the proxy itself is all that is known.
    """
    if is_trusted(peer, trusted_proxies):
        for entry in reversed(forwarded_for.rsplit(",", _MOST_PROXIES)):
            if not is_trusted(entry, trusted_proxies):
                read = read_address(entry)
                return _written(peer) if read is None else str(read)
    return _written(peer)


def _written(address: str) -> str:
    """In its one form; what is no address stays as it is."""
    read = read_address(address)
    return address if read is None else str(read)


def neighbourhood(client: str) -> str:
    """The network around an address: what one provider or one tenant of it most often has."""
    address = read_address(client)
    if address is None:
        return client
    bits = NEIGHBOUR_BITS_V4 if address.version == 4 else NEIGHBOUR_BITS_V6
    return str(ip_network((address, bits), strict=False))


def client_prefix(client: str) -> str:
    """What attempts are counted by: an IPv4 address, or the part of an IPv6 address that is one
    customer's of a provider."""
    address = read_address(client)
    if address is None:
        return client
    if address.version == 4:
        return str(address)
    return str(ip_network((address, CLIENT_PREFIX_BITS), strict=False))
