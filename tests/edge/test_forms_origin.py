"""Where a form came from, by what a browser says."""

from ipaddress import ip_network

import pytest

from laari.edge.pages.security import stranger
from laari.http.messages import Request
from tests.edge.sent import sent

OURS = "https://pay.example.com"


def request(secure: bool = True, **headers: str) -> Request:
    if secure:
        headers["x_forwarded_proto"] = "https"
    proxies = (ip_network("192.0.2.0/24"),)
    return sent("/app/login", "POST", trusted_proxies=proxies, **headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": OURS},
        {"origin": OURS, "sec_fetch_site": "same-origin"},
        {"origin": "https://PAY.example.com:443", "sec_fetch_site": "same-origin"},
        {"origin": "null", "sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "same-origin"},
        {"origin": OURS, "host": "laari"},  # a proxy that names itself
    ],
)
def test_our_own_pages(headers: dict[str, str]) -> None:
    assert stranger(request(**headers), OURS) is None
    assert stranger(request(**headers), OURS + ":443") is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"origin": OURS, "sec_fetch_site": "cross-site"},
        {"origin": "https://evil.test"},
        {"origin": "https://evil.test", "host": "evil.test"},  # whatever the sender wrote
        {"origin": "http://pay.example.com"},
        {"origin": "https://pay.example.com:8443"},
        {"origin": "https://pay.example.com.evil.test"},
        {"origin": "https://[", "host": "["},
        {"origin": ""},
        {"origin": f"{OURS}, {OURS}"},
    ],
)
def test_other_sites(headers: dict[str, str]) -> None:
    assert stranger(request(**headers), OURS) == "other_site"


def test_our_page_at_another_address_of_the_machine() -> None:
    """Its browser says that the page is its own, and names an origin that is not the public one."""
    told = {"origin": "http://localhost:8000", "sec_fetch_site": "same-origin"}
    assert stranger(request(secure=False, **told), "http://127.0.0.1:8000") == "other_address"
    silent = {"origin": "null", "sec_fetch_site": "same-origin"}
    assert stranger(request(secure=False, **silent), "http://127.0.0.1:8000") is None


def test_plain_http_without_a_word_leaves_it_to_the_forms_token() -> None:
    assert stranger(request(secure=False), OURS) is None
    assert stranger(request(secure=False, origin="http://evil.test"), OURS) == "other_site"
