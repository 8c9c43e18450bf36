"""Two service nodes on a PostgreSQL cluster that loses its leader, its standbys and its network.

Needs root, for network namespaces, and the Debian packages etcd-server and haproxy; Patroni is
installed into `build/patroni`. `campaigns/cluster/campaign.py` says what can be chosen.
"""

import asyncio
import os

import pytest

from campaigns.cluster.campaign import campaign, plan_from
from campaigns.cluster.installed import obstacle


@pytest.mark.campaign
def test_nothing_acknowledged_is_lost_and_the_service_comes_back_in_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with capsys.disabled():
        reason = obstacle()
        if reason is not None:
            pytest.skip(f"no cluster here: {reason}")
        print("\nThe cluster campaign; LAARI_FAULTS_CYCLES=10 makes it ten cycles of each fault.")
        complaints = asyncio.run(campaign(plan_from(os.environ)))
    assert complaints == []
