"""The pytest fixtures. pytest imports this module at every start, so it imports very little."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from laari.testing.merchant import SandboxMerchant
    from laari.testing.sandbox import Sandbox


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Events after the test do not reach a shop that its fixtures are stopping."""
    merchant = getattr(item, "funcargs", {}).get("laari_merchant")
    if merchant is not None:
        merchant.webhooks.stop_handling()


@pytest.fixture(scope="session")
def laari_settings() -> dict[str, str]:
    """Settings of the sandbox, such as `LAARI_MERCHANT_RATE_SANDBOX`. Override this fixture."""
    return {}


@pytest.fixture(scope="session")
def laari_sandbox(laari_settings: dict[str, str]) -> Iterator[Sandbox]:
    """A Laari service with its own database on a free port, for one session or xdist worker."""
    missing = [name for name in ("httpx", "laari_client") if find_spec(name) is None]
    if missing:
        pytest.fail(f"{missing[0]} is not installed: see docs/testing-your-shop.md", pytrace=False)
    from laari.testing.hosting import running_sandbox  # noqa: PLC0415

    with running_sandbox(laari_settings) as sandbox:
        yield sandbox


@pytest.fixture
def laari_merchant(laari_sandbox: Sandbox) -> Iterator[SandboxMerchant]:
    """A new merchant with its own customer, clock and webhook inbox."""
    merchant = laari_sandbox.merchant()
    yield merchant
    laari_sandbox.remove(merchant)
    merchant.webhooks.raise_error()  # of the shop's handler
