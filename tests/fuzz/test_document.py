"""Whatever is sent, the service answers as its OpenAPI document says: schemathesis tries.

All its phases run on every operation of the merchant interface, the wallet interface and the token
endpoint: the document's examples, the borders of every schema, generated requests, and sequences of
calls. Most requests carry the id of something that exists, and credentials that work.
`make test-all` runs a part with a fixed seed, so that it fails for what has changed and not by
luck; the long form draws new seeds.
"""

import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fuzz.targets import Targets
from tests.serving import Service

pytestmark = pytest.mark.ci

CASES = int(os.environ.get("LAARI_FUZZ_CASES", "12000"))  # of the long form
SHORT_SEED, SHORT_EXAMPLES = 1, 3
LONG_EXAMPLES = 25  # of each operation with one seed

# Not asked for: that every request the schema allows is accepted (a deadline in the past is not),
# or that every other is refused (a limit is clamped). Credentials are put in by the test.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)


class Fuzzing:
    """Gives generated requests something to aim at, and keeps count of the responses."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets
        self.statuses: Counter[int] = Counter()
        self.answered: set[str] = set()  # operations that did what they were asked

    def aim(self, case: Any) -> None:
        path, random = case.operation.path, self.targets.random
        if "{id}" in path and random.randrange(5):
            collection = path.partition("/{id}")[0].rpartition("/")[2]
            live = self.targets.any_id(collection)
            if live is not None:
                case.path_parameters = {**(case.path_parameters or {}), "id": live}
        if not random.randrange(15):
            return  # with credentials as they were generated, or none
        if path.endswith("/oauth/token"):
            if isinstance(case.body, dict) and random.randrange(2):
                case.body = {**case.body, **self.targets.token_request()}
            return
        wallet = path.startswith("/wallet/")
        credentials = (
            self.targets.wallet_credentials() if wallet else self.targets.merchant_credentials()
        )
        case.headers = {
            name: value
            for name, value in (case.headers or {}).items()
            if name.lower() not in ("authorization", "x-api-key")
        } | credentials

    def count(self, case: Any, status: int) -> None:
        self.statuses[status] += 1
        if status < 300:
            self.answered.add(case.operation.label)

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())


@pytest.fixture
def fuzzing(targets: Targets) -> Iterator[Fuzzing]:
    import schemathesis  # here: it takes a second, in each process that collects the tests

    fuzzing = Fuzzing(targets)

    # Hooks are functions, known by their names and those of their arguments.
    @schemathesis.hook
    def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
        fuzzing.aim(case)

    @schemathesis.hook
    def after_call(context: Any, case: Any, response: Any) -> None:
        fuzzing.count(case, response.status_code)

    yield fuzzing
    for hook in (before_call, after_call):
        schemathesis.hooks.unregister(hook)


def run(service: Service, seed: int, examples: int, phases: tuple[str, ...]) -> list[str]:
    """Runs the phases; answers what went wrong, each once, with the request that shows it."""
    import schemathesis
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import from_schema

    every = ("examples", "coverage", "fuzzing", "stateful")
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "base-url": service.origin,
            "continue-on-failure": True,
            "generation": {"max-examples": examples, "database": "none", "no-shrink": True},
            "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
            "phases": {name: {"enabled": name in phases} for name in every},
        }
    )
    schema = schemathesis.openapi.from_url(f"{service.origin}/openapi.json", config=config)
    problems: dict[tuple[str, ...], str] = {}
    for event in from_schema(schema).execute():
        match type(event).__name__:
            case "NonFatalError" | "FatalError":
                error = getattr(event, "value", None) or getattr(event, "exception", None)
                problems.setdefault((str(error)[:200],), f"schemathesis: {error}")
            case "ScenarioFinished":
                for name, text in _failures(event):
                    problems.setdefault((str(event.label), name), text)
    again = (
        f"LAARI_FUZZ_SEED={seed} LAARI_FUZZ_EXAMPLES={examples} "
        f"LAARI_FUZZ_PHASES={','.join(phases)} make test-all ARGS=tests/fuzz/test_document.py"
    )
    return [f"{text}\nAgain: {again}" for text in problems.values()]


def _failures(event: Any) -> Iterator[tuple[str, str]]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.status == "failure":
                found = check.failure_info
                yield check.name, f"{event.label}: {found.failure}\n{found.code_sample}"


def test_every_operation_answers_as_described(fuzzed: Service, fuzzing: Fuzzing) -> None:
    seed = int(os.environ.get("LAARI_FUZZ_SEED", SHORT_SEED))
    examples = int(os.environ.get("LAARI_FUZZ_EXAMPLES", SHORT_EXAMPLES))
    phases = os.environ.get("LAARI_FUZZ_PHASES", "examples,fuzzing").split(",")
    problems = run(fuzzed, seed, examples, tuple(phases))
    assert not problems, "\n\n".join(problems)
    # The requests get somewhere: otherwise nothing was tried but how it refuses.
    assert len(fuzzing.answered) > 10, fuzzing.statuses
    assert fuzzing.cases > 100


@pytest.mark.campaign
def test_every_operation_answers_as_described_for_long(
    fuzzed: Service, fuzzing: Fuzzing, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    phases: tuple[str, ...] = ("examples", "coverage", "fuzzing", "stateful")
    while fuzzing.cases < CASES:
        seed = secrets.randbelow(2**32)
        problems = run(fuzzed, seed, LONG_EXAMPLES, phases)
        assert not problems, "\n\n".join(problems)
        phases = ("fuzzing", "stateful")  # the others try the same each time
        with capsys.disabled():
            took = time.monotonic() - begun
            told = ", ".join(f"{status}: {n}" for status, n in sorted(fuzzing.statuses.items()))
            print(f"fuzz: {fuzzing.cases:,} of {CASES:,} cases, {took:.0f} s, {told}", flush=True)
    assert not any(status >= 500 for status in fuzzing.statuses)
