"""What webhooks cost the payments that cause them: creations with webhooks on beside off.

Deliveries run beside the creations on the same processors. All of them have to arrive; how long the
last ones took after the last creation is told as well.
"""

import time
from statistics import median

from bench.load import Target, drive
from bench.report import Verdict
from bench.stage import Stage
from bench.webhooks import receiver

CLIENTS = (16, 64)
TARGET_RATIO = 0.85
DRAIN_SECONDS = 120


def measure(ready: Stage, rounds: int, seconds: int) -> list[Verdict]:
    with receiver() as url:
        shop = ready.service.laari(
            "merchant", "create", "Hooked", "--mode", "live", "--webhook-url", url
        )
        hooked = ready.target._replace(secret_key=shop["secret_key"])
        return [_verdict(ready, hooked, clients, rounds, seconds) for clients in CLIENTS]


def _verdict(ready: Stage, hooked: Target, clients: int, rounds: int, seconds: int) -> Verdict:
    ratios, waits = [], []
    for _ in range(rounds):
        off = drive(ready.target, "create", clients=clients, seconds=seconds)
        on = drive(hooked, "create", clients=clients, seconds=seconds)
        ended = time.monotonic()
        wait_until_delivered(ready)
        waits.append(time.monotonic() - ended)
        ratios.append(on.per_second / off.per_second)
    ratio = median(ratios)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}, all delivered {median(waits):.1f} s later"
    return Verdict(
        f"create, {clients} clients: rate with webhooks on ÷ off ({spread})",
        round(ratio, 3),
        f"at least {TARGET_RATIO:g}",
        ratio >= TARGET_RATIO,
    )


def wait_until_delivered(ready: Stage) -> None:
    query = "SELECT count(*) FILTER (WHERE status = 'failed') FROM deliveries"
    deadline = time.monotonic() + DRAIN_SECONDS
    while ready.query("SELECT EXISTS (SELECT FROM deliveries WHERE status = 'pending')"):
        if time.monotonic() > deadline:
            raise RuntimeError(f"webhooks were not delivered within {DRAIN_SECONDS} s")
        time.sleep(0.02)
    if ready.query(query):
        raise RuntimeError("some webhooks could not be delivered")
