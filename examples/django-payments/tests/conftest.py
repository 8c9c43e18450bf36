"""The shop with a database and a merchant of Laari's sandbox, whose webhooks reach it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings

HOOK = "/payments/process/laari/"
Deliver = Callable[..., int]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shop") / "shop.db"
    os.environ |= {"DJANGO_SETTINGS_MODULE": "shop.settings", "SHOP_DATABASE": str(place)}
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    return place


@pytest.fixture
def deliver(database: Path) -> Deliver:
    """Posts a webhook to the shop; returns the status of its answer."""

    def post(body: bytes, signature: str | None, url: str = HOOK) -> int:
        headers = {} if signature is None else {"Service-Signature": signature}
        sent = Client().post(url, body, content_type="application/json", headers=headers)
        return sent.status_code

    return post


@pytest.fixture
def browser(laari_merchant: Any, deliver: Deliver) -> Iterator[Client]:
    """A customer's browser, that does not follow redirects."""
    from payments.core import PROVIDER_CACHE  # noqa: PLC0415  # wants Django's settings

    provider, config = settings.PAYMENT_VARIANTS["laari"]
    config = {**config, "url": laari_merchant.url, "secret_key": laari_merchant.secret_key}

    def hand_on(body: bytes, headers: Mapping[str, str]) -> int:
        try:
            return deliver(body, headers["Service-Signature"])
        finally:
            connection.close()  # that of this thread

    PROVIDER_CACHE.clear()
    with override_settings(PAYMENT_VARIANTS={"laari": (provider, config)}):
        laari_merchant.webhooks.handle(hand_on)
        yield Client()
        laari_merchant.webhooks.stop_handling()
    PROVIDER_CACHE.clear()
