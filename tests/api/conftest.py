"""One running service per test process; every test has merchants of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.purses import Purse
from tests.serving import Merchant, Service, serving


@pytest.fixture(scope="session")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(engine.migrated("api"), tmp_path_factory.mktemp("api")) as service:
        yield service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
def purse(shop: Merchant) -> Purse:
    """The wallet of the shop's own sandbox customer."""
    return Purse(shop.service, shop.control("wallet", {})["api_key"])
