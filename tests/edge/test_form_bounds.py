"""Each bound of a form holds by itself, whatever the others allow."""

import pytest

from laari.edge.pages import routes
from laari.edge.pages.request import MAX_FIELDS
from laari.http.messages import Request
from tests.edge.sent import sent

LONG = 400_000


def form(body: bytes) -> Request:
    return sent("/app/login", "POST", body=body, content_type="application/x-www-form-urlencoded")


@pytest.fixture
def longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts the bound of the length."""
    monkeypatch.setattr(routes, "MAX_FORM_BYTES", 2 * LONG)


def test_the_longest_form_may_consist_of_escapes() -> None:
    letters = (routes.MAX_FORM_BYTES - len("a=")) // 3
    assert routes.read_form(form(b"a=" + b"%41" * letters)) == {"a": "A" * letters}
    assert routes.read_form(form(b"a=" + b"%41" * (letters + 1))) is None


@pytest.mark.usefixtures("longer")
def test_escapes_are_counted_before_a_form_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    most = b"a=" + b"%41" * routes.MAX_ESCAPES
    assert routes.read_form(form(most)) == {"a": "A" * routes.MAX_ESCAPES}
    assert routes.read_form(form(b"a=" + b"A" * LONG)) == {"a": "A" * LONG}
    monkeypatch.setattr(routes, "parse_qsl", None)
    assert routes.read_form(form(most + b"%41")) is None


@pytest.mark.usefixtures("longer")
def test_fields_are_counted() -> None:
    assert routes.read_form(form(b"&".join([b"a=1"] * MAX_FIELDS))) == {"a": "1"}
    assert routes.read_form(form(b"&".join([b"a=1"] * (MAX_FIELDS + 1)))) is None
