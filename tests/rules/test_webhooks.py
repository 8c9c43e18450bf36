import pytest

from laari.rules.webhooks import check_webhook_url, is_public_name, retry_wait, signature

GOOD = [
    "https://shop.mv",
    "https://shop.mv/",
    "https://hooks.shop.com.mv:8443/laari?x=1&y=%2F",
    "https://SHOP.mv/In",
    "https://shop.mv:443/in",
    "https://shop.mv:1024/in",
    "https://shop.mv:65535/in",
    "https://xn--q9jyb4c.xn--mgbai9azgqp6j/",
    "https://1.shop.mv/",
    "https://127.0.0.1.shop.mv/",  # a name; what it resolves to is checked when connecting
    "https://a-b.c--d.example.com/",
]

BAD = {
    "http://shop.mv/": "https",
    "ftp://shop.mv/": "https",
    "HTTPS:shop.mv": "absolute",
    "//shop.mv/": "https",
    "shop.mv/hook": "absolute",
    "https://": "absolute",
    "https:///x": "absolute",
    "": "absolute",
    "https://user@shop.mv/": "credentials",
    "https://user:pass@shop.mv/": "credentials",
    "https://@shop.mv/": "credentials",
    "https://shop.mv/#part": "fragment",
    "https://shop.mv/#": "fragment",
    "https://localhost/": "public domain",
    "https://LOCALHOST/": "public domain",
    "https://localhost./": "public domain",
    "https://shop/": "public domain",
    "https://shop.mv./": "public domain",
    "https://a..mv/": "public domain",
    "https://-a.mv/": "public domain",
    "https://a_b.mv/": "public domain",
    "https://shop.local/": "public domain",
    "https://api.internal/": "public domain",
    "https://foo.localhost/": "public domain",
    "https://foo.test/": "public domain",
    "https://1.0.0.127.in-addr.arpa/": "public domain",
    "https://hidden.onion/": "public domain",
    "https://metadata.google.internal/": "public domain",
    "https://shop.mv:80/": "port",
    "https://shop.mv:22/": "port",
    "https://shop.mv:25/": "port",
    "https://shop.mv:0/": "absolute",
    "https://shop.mv:65536/": "absolute",
    "https://shop.mv:/": "absolute",
    "https://shop.mv:x/": "absolute",
    "https://shop.mv\\@evil.mv/": "absolute",
    "https://shop.mv/a b": "absolute",
    "https://shop.mv/\n": "absolute",
    " https://shop.mv/": "absolute",
    "https://shop.mv/ދިވެހި": "absolute",
    "https://ދިވެހި.mv/": "absolute",
    "https://shop。mv/": "absolute",  # a full stop that some turn into a dot
    "https://①②⑦.⓪.⓪.①/": "absolute",
    "https://shop.mv/" + "x" * 2048: "absolute",
    f"https://{'a' * 64}.mv/": "public domain",
    f"https://{'a.' * 126}mv/": "public domain",
}

# An IPv4 or IPv6 address in the place of a name, in the spellings that some client understands.
ADDRESSES = """
127.0.0.1 127.1 127.0.1 127.0.0.1. 2130706433 017700000001 0x7f000001 0x7f.1 0x7f.0x0.0x0.0x1
0177.0.0.1 0177.0.0.01 00000177.0.0.1 127.0.0.0x1 127.000.000.001 127.65530 0x7f.65530 0 0.0.0.0
10.0.0.1 10.1 0xa.1 012.1 167772161 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376
192.168.0.1 0xc0a80001 3232235521 172.16.0.1 100.64.0.1 198.18.0.1 224.0.0.1 255.255.255.255
4294967295 8.8.8.8 1.1.1.1 0x8.8 134744072 [::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [::7f00:1]
[::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [fe80::1]
[fe80::1%25eth0] [fc00::1] [fd00:ec2::254] [fec0::1] [ff02::1] [2001:db8::1]
[2606:4700:4700::1111] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::1%25lo]
%31%32%37.0.0.1 127.0.0.1%00 127%2e0%2e0%2e1 0x7f000001. 127.0.0.1:8443
""".split()


@pytest.mark.parametrize("url", GOOD)
def test_public_https_urls_are_taken(url: str) -> None:
    assert check_webhook_url(url) is None


@pytest.mark.parametrize(("url", "why"), BAD.items())
def test_others_are_refused_with_the_reason(url: str, why: str) -> None:
    refusal = check_webhook_url(url)
    assert refusal is not None
    assert (refusal.code, refusal.field) == ("invalid_request", "webhook_url")
    assert why in refusal.message


@pytest.mark.parametrize("host", ADDRESSES)
def test_addresses_are_refused_in_every_spelling(host: str) -> None:
    assert check_webhook_url(f"https://{host}/") is not None
    assert not is_public_name(host)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/hook",
        "http://localhost/hook",
        "https://shop.test:80/",
        "http://[::1]:5000/",
        "http://receiver/",
    ],
)
def test_development_allows_private_hosts_and_http(url: str) -> None:
    assert check_webhook_url(url, allow_private=True) is None
    assert check_webhook_url(url) is not None


@pytest.mark.parametrize(
    "url", ["http://a:b@localhost/", "http://localhost/#x", "ftp://localhost/", "http:///", "x"]
)
def test_development_still_wants_a_url(url: str) -> None:
    assert check_webhook_url(url, allow_private=True) is not None


def test_the_schemes_that_would_do_are_named() -> None:
    strict, open_to_all = (
        check_webhook_url("ftp://localhost/", allowed) for allowed in (False, True)
    )
    assert strict is not None
    assert strict.message == "webhook_url must begin with https://."
    assert open_to_all is not None
    assert open_to_all.message == "webhook_url must begin with http:// or https://."


def test_signature_of_a_known_message() -> None:
    # Computed apart: printf '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac sk_test
    assert signature("sk_test", 1700000000, b'{"id":"evt_1"}') == (
        "t=1700000000,v1=037203a68b016cbde660b1b837fdd8db15ae142413777fba9acc323078e427fa"
    )


def test_waits_grow_with_failures_and_end_after_three() -> None:
    waits = (60.0, 300.0)
    assert retry_wait(1, waits, 0.0) == 60.0
    assert retry_wait(1, waits, 1.0) == pytest.approx(66.0)
    assert retry_wait(2, waits, 0.5) == pytest.approx(315.0)
    assert retry_wait(3, waits, 0.5) is None
    assert retry_wait(1, (), 0.5) is None
