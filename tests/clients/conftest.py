"""One running service per test process, and a faulty proxy before it for each test."""

from collections.abc import Iterator

import pytest

from tests.clients.faulty_proxy import FaultyProxy, faulty_proxy
from tests.serving import Merchant, Service


@pytest.fixture(scope="session")
def service(usual_service: Service) -> Service:
    return usual_service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
def proxy(service: Service) -> Iterator[FaultyProxy]:
    with faulty_proxy(service.origin) as proxy:
        yield proxy
