"""Processes are killed under load: nothing acknowledged is lost, nothing is done twice.

`campaigns/crash/campaign.py` says what can be chosen.
"""

import asyncio
import os
from pathlib import Path

import pytest

from campaigns.crash.campaign import Plan, campaign, plan_from, summary
from campaigns.crash.faults import INTERFACE, POSTMASTER

# In `make test-all` other tests use the machine, too: there it only has to come back at all.
PATIENCE_SECONDS = 60.0


async def test_processes_that_are_killed_under_load(tmp_path: Path) -> None:
    faults = [INTERFACE, INTERFACE, INTERFACE, POSTMASTER]
    patient = [
        each._replace(back_seconds=PATIENCE_SECONDS, replaced_seconds=PATIENCE_SECONDS)
        for each in faults
    ]
    plan = Plan(patient, tmp_path, clients=8, waits_for_webhooks=False, says=False)
    outcome = await campaign(plan)
    assert outcome.complaints() == []
    kinds = {each.kind for each in outcome.operations if each.acknowledged}
    assert {"create", "charge", "request", "pay"} <= kinds


@pytest.mark.campaign
def test_the_crash_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\nThe crash campaign; LAARI_CRASH_INTERFACE=20 makes it twenty kills of a process.")
        outcome = asyncio.run(campaign(plan_from(os.environ)))
        print(summary(outcome))
    assert outcome.complaints() == []
