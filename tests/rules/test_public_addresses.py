"""Which addresses are public: 200 spellings that are not, and the edges of each range."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from hypothesis import given
from hypothesis import strategies as st

from laari.rules.public_addresses import SPECIAL_IPV4, SPECIAL_IPV6, is_public

PRIVATE_IPV4 = """
0.0.0.0 0.0.0.1 0.255.255.255 10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.64.0.1 100.100.100.200
100.127.255.255 127.0.0.0 127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.255 168.63.129.16 169.254.0.0
169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.0
192.0.0.1 192.0.0.8 192.0.0.170 192.0.0.192 192.0.0.255 192.0.2.0 192.0.2.1 192.0.2.255
192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.0 192.168.0.1 192.168.1.1 192.168.255.255
192.175.48.1 198.18.0.0 198.18.0.1 198.19.255.255 198.51.100.0 198.51.100.7 203.0.113.0 203.0.113.9
203.0.113.255 224.0.0.0 224.0.0.1 224.0.0.251 232.1.1.1 239.255.255.255 240.0.0.0 240.0.0.1
250.1.2.3 255.255.255.254 255.255.255.255
""".split()

SPECIAL_IPV6_SPELLINGS = """
:: ::0 0:0:0:0:0:0:0:0 ::1 0::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001 ::2 ::ffff
::127.0.0.1 ::7f00:1 ::10.0.0.1 ::a00:1 ::169.254.169.254 ::a9fe:a9fe ::8.8.8.8 ::808:808
::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:7F00:0001 0:0:0:0:0:ffff:127.0.0.1 0:0:0:0:0:FFFF:7F00:1
::ffff:10.0.0.1 ::ffff:192.168.1.1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:0.0.0.0
::ffff:100.64.0.1 ::ffff:172.16.0.1 ::ffff:8.8.8.8 ::ffff:808:808 ::ffff:0:127.0.0.1
::ffff:0:7f00:1 ::ffff:0:8.8.8.8
64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::192.168.0.1
64:ff9b::8.8.8.8 64:ff9b:0:0:0:0:7f00:1 0064:ff9b::7f00:0001
64:ff9b:1::127.0.0.1 64:ff9b:1::7f00:1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff 64:ff9b:1:0:7f00:1::
2002:7f00:1:: 2002:7f00:1::1 2002:7f00:0001:0:0:0:0:1 2002:a00:1:: 2002:c0a8:1:: 2002:a9fe:a9fe::
2002:a9fe:a9fe::1 2002:ac10:1:: 2002:808:808::1 2002:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff
2001:: 2001::1 2001:0:7f00:1:: 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:0:a9fe:a9fe:0:0:5601:5601
2001:1::1 2001:1::2 2001:2::1 2001:3::1 2001:4:112::1 2001:5::1 2001:10::1 2001:1f:ffff::1
2001:20::1 2001:2f::1 2001:30::1 2001:1ff:ffff::1 2001:db8:: 2001:db8::1 2001:0db8::1
2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 2620:4f:8000::1 3ffe::1 3fff::1 3fff:fff:ffff::1 5f00::1
100:: 100::1 100:0:0:1::1 200::1 400::1 1000::1 1fff::1 4000::1 6000::1 8000::1 a000::1 c000::1
e000::1 f000::1 f800::1 fbff::1 fc00:: fc00::1 fcff::1 fd00::1 fd00:ec2::254 fd12:3456:789a::1
fdff:ffff::1 fe00::1 fe7f::1 fe80:: fe80::1 fe80::1%eth0 fe80::1%1 fe80::a9fe:a9fe febf::1 fec0::
fec0::1 feff::1 ff00::1 ff01::1 ff02::1 ff02::2 ff02::fb ff05::1:3 ff0e::1 ff3e::1
ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
2a00:1450:4001:82a:0:5efe:127.0.0.1 2a00:1450:4001:82a:0:5efe:7f00:1 2606:4700::5efe:a00:1
2a00:1450:4001:82a:200:5efe:10.0.0.1 2606:4700::200:5efe:a9fe:a9fe 2606:4700::1%eth0
""".split()

NOT_ADDRESSES = """
localhost 127.1 2130706433 0x7f000001 0177.0.0.1 127.0.0.01 [::1] 127.0.0.1:80 1.2.3 1.2.3.4.5
256.1.1.1 ::1::1 1::2::3 :::1 12345::1 fe80::1%
""".split()
NOT_ADDRESSES += ["", " 8.8.8.8", "8.8.8.8\n", "\N{FULLWIDTH DIGIT EIGHT}.8.8.8"]

PUBLIC = """
1.0.0.1 1.1.1.1 8.8.8.8 9.9.9.9 11.0.0.0 9.255.255.255 100.63.255.255 100.128.0.0 126.255.255.255
128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
203.0.112.255 203.0.114.0 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:82a::200e
2001:200::1 2001:4860:4860::8888 2000::1 2003::1 2400:cb00::1 2620:4f:7fff::1 3fff:1000::1
3ffd::1 3dff::1
""".split()

SPELLINGS = [*PRIVATE_IPV4, *SPECIAL_IPV6_SPELLINGS, *NOT_ADDRESSES]


def test_there_are_200_spellings() -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 200


def test_special_addresses_are_not_public() -> None:
    assert [text for text in SPELLINGS if is_public(text)] == []


def test_their_neighbours_are() -> None:
    assert [text for text in PUBLIC if not is_public(text)] == []


@given(st.sampled_from(SPECIAL_IPV4), st.integers(0, 2**32 - 1))
def test_no_address_of_a_special_ipv4_range_is_public(network: IPv4Network, number: int) -> None:
    inside = IPv4Address(int(network.network_address) + number % network.num_addresses)
    assert not is_public(str(inside))
    for prefix in ("::ffff:", "::", "64:ff9b::", "64:ff9b:1::", "2a00::5efe:", "2a00::200:5efe:"):
        assert not is_public(f"{prefix}{inside}")
    assert not is_public(str(IPv6Address((0x2002 << 112) | (int(inside) << 80) | 1)))


@given(st.sampled_from(SPECIAL_IPV6), st.integers(0, 2**128 - 1))
def test_no_address_of_a_special_ipv6_range_is_public(network: IPv6Network, number: int) -> None:
    inside = IPv6Address(int(network.network_address) + number % network.num_addresses)
    assert not is_public(str(inside))
    assert not is_public(inside.exploded)


@given(st.ip_addresses(v=6))
def test_only_global_unicast_can_be_public(address: IPv6Address) -> None:
    if is_public(str(address)):
        assert int(address) >> 125 == 0b001
        assert address.is_global


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_never_public(address: IPv4Address) -> None:
    if address.is_private or address.is_multicast or address.is_reserved or address.is_loopback:
        assert not is_public(str(address))
