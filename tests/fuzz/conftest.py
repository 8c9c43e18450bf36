"""A service to be fuzzed, and a merchant in it that has something of everything."""

from collections.abc import Iterator

import pytest

from tests.fuzz.targets import Targets
from tests.serving import Merchant, Service, serving

# What guards against too many requests is not what is looked at here.
SETTINGS = {
    "LAARI_RECIPIENT_MISSES_PER_MINUTE": "0",
    "LAARI_TOKEN_FAILURES_PER_MINUTE": "0",
    "LAARI_TOKENS_PER_MINUTE": "0",
}


@pytest.fixture(scope="session")
def fuzzed(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("fuzz")
    with serving(engine.migrated("fuzz"), directory, **SETTINGS) as service:
        yield service
        log = (directory / "serve.log").read_text()
        assert "Traceback" not in log, log[-4_000:]


@pytest.fixture(scope="session")
def shop(fuzzed: Service) -> Merchant:
    return fuzzed.merchant()


@pytest.fixture(scope="session")
def targets(shop: Merchant) -> Targets:
    return Targets(shop)
