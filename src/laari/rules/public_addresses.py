"""Public addresses: the service connects only to these for a merchant's URL.

`ipaddress.is_global` differs between versions of Python and accepted `64:ff9b::7f00:1`.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

SPECIAL_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; metadata services of some clouds
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's host agent behind a public-looking address
        "169.254.0.0/16",  # link-local; metadata services of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnelling
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

# Everything outside this block is special: loopback, mapped and compatible IPv4, both NAT64
# prefixes, discard, segment routing, unique local, link-local, site-local, multicast.
GLOBAL_UNICAST_IPV6 = IPv6Network("2000::/3")

SPECIAL_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks, AS112, multicast
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former 6bone
        "3fff::/20",  # documentation
    )
)

# ISATAP puts an IPv4 address into the last 32 bits of any prefix, behind one of these.
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)


def is_public(text: str) -> bool:
    """Whether the text is an address that is global unicast and not special."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in SPECIAL_IPV4)
    return _is_public_ipv6(address)


def _is_public_ipv6(address: IPv6Address) -> bool:
    if address.scope_id is not None or address not in GLOBAL_UNICAST_IPV6:
        return False
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP_MARKS:
        return False
    return not any(address in network for network in SPECIAL_IPV6)
