"""Whom a customer with a blocked wallet is told to contact."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from laari.edge.pages.language import ENGLISH
from laari.edge.pages.request import PageRequest
from laari.edge.pages.spending import frozen_words


@pytest.mark.parametrize(
    ("contact", "told"),
    [(None, "your wallet provider"), ("<b>330 1234", '<bdi dir="auto">&lt;b&gt;330 1234</bdi>')],
)
def test_the_contact_is_told_or_the_provider(contact: str | None, told: str) -> None:
    settings = SimpleNamespace(support_contact=contact)
    request = SimpleNamespace(language=ENGLISH, backend=SimpleNamespace(settings=settings))
    words = "Your wallet is blocked, so it cannot pay. Contact"
    wallet: Any = SimpleNamespace(frozen_silently=False)
    assert frozen_words(cast(PageRequest, request), wallet) == f"{words} {told}."
