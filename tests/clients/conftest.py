"""One running service per test process, and a faulty proxy before it for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.faulty_proxy import FaultyProxy, faulty_proxy
from tests.serving import Merchant, Service, serving


@pytest.fixture(scope="session")
def service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(engine.migrated("clients"), tmp_path_factory.mktemp("clients")) as service:
        yield service


@pytest.fixture
def shop(service: Service) -> Merchant:
    """A merchant in sandbox mode, without fees."""
    return service.merchant()


@pytest.fixture
def proxy(service: Service) -> Iterator[FaultyProxy]:
    with faulty_proxy(service.origin) as proxy:
        yield proxy
