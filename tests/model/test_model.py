"""The service and the reference model give the same responses, call after call.

`make test` runs a short form with a fixed seed: it takes the same way each time, so that it fails
for what has changed and not by luck, and planted mistakes are caught reliably. The long form draws
a new seed each time; what it finds is printed with the command that finds it again.
"""

import os
import secrets
import time

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.driver import Driver
from tests.model.machine import Machine

SHORT_SEED = 20
SHORT_CASES, SHORT_STEPS = 12, 40
STEPS = int(os.environ.get("LAARI_MODEL_STEPS", "20000"))  # of the long form
STEPS_OF_A_CASE = 60
PART = 20  # cases with one seed


def run(driver: Driver, seed: int, cases: int, steps: int) -> int:
    """Runs some cases; says how to find a difference again."""
    phases = [Phase.generate]
    if os.environ.get("LAARI_MODEL_SHRINK"):  # minutes more, for a shorter way to the difference
        phases.append(Phase.shrink)
    machine = type("Seeded", (Machine,), {"driver": driver, "steps": 0})
    machine._hypothesis_internal_use_seed = seed
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=cases,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                phases=phases,
                verbosity=Verbosity.quiet,  # the transcript says it all
                suppress_health_check=list(HealthCheck),
            ),
        )
    except BaseException as error:
        error.add_note(
            f"Again: LAARI_MODEL_SEED={seed} LAARI_MODEL_CASES={cases} "
            f"LAARI_MODEL_CASE_STEPS={steps} make test ARGS=tests/model/test_model.py "
            "(with LAARI_MODEL_SHRINK=1 a shorter way to it is looked for)"
        )
        raise
    return machine.steps


def test_the_service_answers_as_the_model(driver: Driver) -> None:
    seed = int(os.environ.get("LAARI_MODEL_SEED", SHORT_SEED))
    cases = int(os.environ.get("LAARI_MODEL_CASES", SHORT_CASES))
    steps = int(os.environ.get("LAARI_MODEL_CASE_STEPS", SHORT_STEPS))
    assert run(driver, seed, cases, steps) > cases
    driver.audit()


@pytest.mark.campaign
def test_the_service_answers_as_the_model_for_long(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    done, begun = 0, time.monotonic()
    while done < STEPS:
        seed = secrets.randbelow(2**32)
        done += run(driver, seed, PART, STEPS_OF_A_CASE)
        with capsys.disabled():
            took = time.monotonic() - begun
            print(f"model: {done:,} of {STEPS:,} steps, {took:.0f} s, no difference", flush=True)
    driver.audit()
