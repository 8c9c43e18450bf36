"""Addresses of clients, for throttles and trusted proxies.

IPv4 inside IPv6 (`::ffff:192.0.2.1`) and an address with a port are read as the plain address.
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

_MOST_PROXIES = 20  # in a row: addresses before them are not read
_LONGEST = 80  # characters: brackets, an IPv6 address with its zone, and a port
_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]*)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?", re.ASCII)


def read_address(text: str) -> Address | None:
    """The address in `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`."""
    text = text.strip()
    return _read(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)  # most connections carry many requests
def _read(text: str) -> Address | None:
    bracketed = _WITH_PORT.fullmatch(text)
    if bracketed is not None:
        text = bracketed["v6"] if bracketed["v6"] is not None else bracketed["v4"]
    try:
        address = ip_address(text.partition("%")[0])  # without the zone
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
    """The last address that is not a trusted proxy's, if any: clients can write those before it."""
    if is_trusted(peer, trusted_proxies):
        for entry in reversed(forwarded_for.rsplit(",", _MOST_PROXIES)):
            if not is_trusted(entry, trusted_proxies):
                read = read_address(entry)
                return _written(peer) if read is None else str(read)
    return _written(peer)


@lru_cache(maxsize=4096)  # every request names its client
def _written(address: str) -> str:
    """In its normal form; other texts stay as they are."""
    read = read_address(address)
    return address if read is None else str(read)


def neighbourhood(client: str) -> str:
    """The network around an address, which often belongs to one provider."""
    return _network(client, NEIGHBOUR_BITS_V4, NEIGHBOUR_BITS_V6)


def client_prefix(client: str) -> str:
    """The part of an address that belongs to one customer of a provider."""
    return _network(client, 32, CLIENT_PREFIX_BITS).removesuffix("/32")


def _network(client: str, bits_v4: int, bits_v6: int) -> str:
    address = read_address(client)
    if address is None:
        return client
    bits = bits_v4 if address.version == 4 else bits_v6
    return str(ip_network((address, bits), strict=False))
