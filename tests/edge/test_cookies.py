"""Our own cookies are found whatever stands around them, and nothing takes long to read."""

import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.pages.cookies import DEVICE, MOST_COOKIES, own_cookies, set_cookie

PAGES = Path(__file__).parents[2] / "src" / "laari" / "edge"


def read(*headers: str) -> dict[str, str]:
    return own_cookies([(b"cookie", header.encode("latin-1")) for header in headers])


@pytest.mark.parametrize(
    ("header", "cookies"),
    [
        ("laari=a", {"laari": "a"}),
        ("x=1; laari=a; y=2", {"laari": "a"}),
        ("laari=a;laari-lang=dv", {"laari": "a", "laari-lang": "dv"}),
        ("__Host-laari=a; laari=b", {"__Host-laari": "a", "laari": "b"}),
        ("laari=a=b==", {"laari": "a=b=="}),
        ('laari="a"', {"laari": '"a"'}),  # not ours: we never quote
        (r'a="\\\"; laari=a', {"laari": "a"}),
        ("laari=", {"laari": ""}),
        ("laari; ; =x; ;;", {}),
        ("Laari=a; notlaari=b; __Secure-laari=c", {}),
        ("laari=first; laari=second", {"laari": "first"}),
        ("", {}),
    ],
)
def test_our_cookies_are_found(header: str, cookies: dict[str, str]) -> None:
    assert read(header) == cookies


def test_several_headers_are_one_list_and_other_headers_none() -> None:
    assert read("laari-lang=dv", "laari=a; laari-lang=en") == {"laari-lang": "dv", "laari": "a"}
    assert own_cookies([(b"cookie2", b"laari=a"), (b"x", b"laari=b")]) == {}


TOKENS = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=64)
NOISE = st.text(st.characters(max_codepoint=255), max_size=20).filter(
    lambda text: (
        not any(part.strip(" \t").startswith(("laari", "__Host-")) for part in text.split(";"))
    )
)


@given(st.lists(NOISE, max_size=3), TOKENS, st.lists(NOISE, max_size=3))
def test_noise_around_a_cookie_changes_nothing(
    before: list[str], token: str, after: list[str]
) -> None:
    assert read("; ".join([*before, f"laari={token}", *after]))["laari"] == token


@pytest.mark.parametrize("piece", ["\\\\", '\\"', '"', ";", "=", "a=;", ' ="', "laari="])
@pytest.mark.parametrize("frame", ["{}", 'a="{}"', 'laari="{}"'])
def test_a_hostile_header_takes_no_longer_than_its_length(frame: str, piece: str) -> None:
    """Half a megabyte would take Python's own parser hours; here it is milliseconds."""
    header = frame.format(piece * (500_000 // len(piece)))
    began = time.process_time()
    read(header)
    assert time.process_time() - began < 1


def test_no_more_cookies_are_looked_at_than_browsers_keep() -> None:
    """Also spread over several headers."""
    most = [f"x{n}=1" for n in range(MOST_COOKIES - 1)]
    assert read("; ".join([*most, "laari=a"])) == {"laari": "a"}
    assert read("; ".join(most), "laari=a; laari-lang=dv") == {"laari": "a"}
    assert read("; ".join([*most, "x=1", "laari=a"]), "laari=a") == {}


def test_nothing_else_reads_or_writes_cookies() -> None:
    """Python's own parser is quadratic, and a cookie without our attributes is one to steal."""
    users = [
        path.name
        for path in PAGES.rglob("*.py")
        if re.search(r"SimpleCookie|http\.cookies|b?[\"']set-cookie[\"']", path.read_text())
    ]
    assert users == ["cookies.py"]


@pytest.mark.parametrize("value", ["a b", "a;b", 'a"b', "a,b", "a\r\nb", "é", "a=b"])
def test_a_value_that_would_need_quotes_is_a_mistake(value: str) -> None:
    with pytest.raises(ValueError, match="laari would need quotes"):
        set_cookie("laari", value, None, secure=True)


@pytest.mark.parametrize(
    ("name", "secure", "sent"),
    [
        ("laari", False, b"laari=v; HttpOnly; Max-Age=5; Path=/; SameSite=lax"),
        ("laari", True, b"__Host-laari=v; HttpOnly; Max-Age=5; Path=/; SameSite=lax; Secure"),
        (DEVICE, False, b"laari-device=v; HttpOnly; Max-Age=5; Path=/pay; SameSite=lax"),
        (
            DEVICE,
            True,
            b"__Secure-laari-device=v; HttpOnly; Max-Age=5; Path=/pay; SameSite=lax; Secure",
        ),
    ],
)
def test_over_https_a_prefix_binds_a_cookie(name: str, secure: bool, sent: bytes) -> None:
    """A browser accepts `__Host-` only without a path of its own."""
    assert set_cookie(name, "v", 5, secure=secure) == (b"set-cookie", sent)
    [full] = own_cookies([(b"cookie", sent.partition(b";")[0])])
    assert full == sent.partition(b"=")[0].decode()
