"""A delivery process to be killed: `python -m tests.webhooks.process DSN`."""

import asyncio
import sys

import uvloop

from laari.store.merchants.merchants import open_secret
from laari.workers.webhooks.delivery import Deliverer
from laari.workers.webhooks.sender import Sender
from laari.workers.webhooks.windows import WindowLimits
from tests.webhooks.shops import MASTER_KEY

TIMEOUT_SECONDS = 1.0
LIMITS = WindowLimits(lease_seconds=3.0, poll_seconds=0.1)
RETRY_SECONDS = (0.3, 0.6)


async def main(dsn: str) -> None:
    sender = Sender(allow_private=True, timeout_seconds=TIMEOUT_SECONDS)
    deliverer = Deliverer(
        dsn,
        sender,
        lambda merchant_id, encrypted: open_secret(MASTER_KEY, merchant_id, encrypted),
        RETRY_SECONDS,
        LIMITS,
    )
    print("ready", flush=True)
    await deliverer.run(asyncio.Event())  # until it is killed


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
