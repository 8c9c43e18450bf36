"""One client is one address, however a socket or a proxy writes it."""

import tracemalloc
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.http.client_addresses import (
    client_address,
    client_prefix,
    is_trusted,
    neighbourhood,
    read_address,
)
from laari.http.messages import Request
from laari.settings import read_settings
from tests.edge.sent import sent

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        (" 192.0.2.1:4711 ", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
        ("::FFFF:c000:201", "192.0.2.1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_an_address_is_read(text: str, address: str) -> None:
    assert str(read_address(text)) == address


@pytest.mark.parametrize(
    "text", ["", "unknown", "192.0.2", "192.0.2.1:", "192.0.2.1:123456", "[192.0.2.1", "a" * 9999]
)
def test_anything_else_is_no_address(text: str) -> None:
    assert read_address(text) is None


@given(st.ip_addresses(), st.integers(0, 65535))
def test_a_port_changes_nothing(address, port: int) -> None:
    shown = f"[{address}]" if address.version == 6 else str(address)
    assert read_address(f"{shown}:{port}") == read_address(str(address))


@given(st.ip_addresses(v=4))
def test_ipv4_inside_ipv6_is_ipv4(address) -> None:
    assert read_address(f"::ffff:{address}") == address
    assert client_prefix(f"::ffff:{address}") == client_prefix(str(address)) == str(address)


def test_one_client_prefix_is_one_in_ipv6() -> None:
    assert client_prefix("2001:db8:1:2:3::4") == client_prefix("[2001:db8:1:2:ffff::]:80")
    assert client_prefix("2001:db8:1:2::1") != client_prefix("2001:db8:1:3::1")
    assert client_prefix("testclient") == "testclient"


def test_neighbours_are_a_network() -> None:
    assert neighbourhood("192.0.2.1") == neighbourhood("::ffff:192.0.2.200") == "192.0.2.0/24"
    assert neighbourhood("192.0.3.1") != neighbourhood("192.0.2.1")
    assert neighbourhood("2001:db8:1:2::1") == neighbourhood("2001:db8:1:ffff::1")
    assert neighbourhood("testclient") == "testclient"


def test_networks() -> None:
    assert is_trusted("127.0.0.9", LOOPBACK)
    assert is_trusted("::ffff:127.0.0.9", LOOPBACK)
    assert not is_trusted("::1", LOOPBACK)
    assert not is_trusted("unknown", LOOPBACK)
    assert not is_trusted("127.0.0.9", ())


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:50123", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7:1", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7, 127.0.0.2:9, ::ffff:127.0.0.1", "203.0.113.7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("203.0.113.7, unknown", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_the_client_behind_a_proxy(header: str, client: str) -> None:
    assert client_address("::ffff:127.0.0.1", header, LOOPBACK) == client
    assert client_address("198.51.100.1", header, LOOPBACK) == "198.51.100.1"


def request_from(peer: str, trusted: str = "127.0.0.0/8", **headers: str) -> Request:
    settings = read_settings({"LAARI_TRUSTED_PROXIES": trusted})

    return sent(client=peer, trusted_proxies=settings.trusted_proxies, **headers)


@pytest.mark.parametrize("trusted", ["127.0.0.0/8", "::ffff:127.0.0.0/104", "::ffff:127.0.0.1"])
def test_a_proxy_that_comes_over_an_ipv6_socket_is_trusted(trusted: str) -> None:
    told = {"x_forwarded_for": "203.0.113.7:4711", "x_forwarded_proto": "https"}
    request = request_from("::ffff:127.0.0.1", trusted, **told)
    assert (request.client, request.secure) == ("203.0.113.7", True)
    stranger = request_from("::ffff:198.51.100.1", trusted, **told)
    assert (stranger.client, stranger.secure) == ("198.51.100.1", False)


def test_a_long_row_of_proxies_is_not_followed() -> None:
    trusted = (ip_network("10.0.0.0/8"),)
    short = ", ".join(["192.0.2.1", *["10.0.0.2"] * 19])
    assert client_address("10.0.0.1", short, trusted) == "192.0.2.1"
    long = ", ".join(["192.0.2.1", *["10.0.0.2"] * 21])
    assert client_address("10.0.0.1", long, trusted) == "10.0.0.1"


def test_what_is_too_long_is_no_address_and_not_kept() -> None:
    """Not even where it begins as one; and what strangers write fills no memory."""
    tracemalloc.start()
    try:
        for number in range(200):
            assert read_address(f"[192.0.2.1%{number}{'x' * 50_000}") is None
            assert read_address(f"192.0.2.1{' ' * 50_000}{number}") is None
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 500_000
