"""One running service per test process; every test has merchants of its own."""

import pytest

from tests.api.purses import Purse
from tests.serving import Merchant, Service


@pytest.fixture(scope="session")
def service(usual_service: Service) -> Service:
    return usual_service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
def purse(shop: Merchant) -> Purse:
    """The wallet of the shop's own sandbox customer."""
    return Purse(shop.service, shop.control("wallet", {})["api_key"])
