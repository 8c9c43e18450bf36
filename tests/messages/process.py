"""A sender that kills itself after sending: `python -m tests.messages.process DSN PORT`."""

import asyncio
import os
import signal
import sys

from laari.settings import SmtpServer
from laari.store.outbox.messages import LeasedMessage
from laari.store.postgres.pool import Pool
from laari.workers.messages.delivery import send_due
from laari.workers.messages.smtp import Mailer
from tests.actors import MASTER
from tests.messages.outbox import FROM

LEASE_SECONDS = 2.0


async def main(dsn: str, port: int) -> None:
    mailer = Mailer(SmtpServer("127.0.0.1", port, False, None, None), FROM)

    async def send(message: LeasedMessage) -> None:
        await mailer.send(message)
        os.kill(os.getpid(), signal.SIGKILL)

    await send_due(Pool(dsn), MASTER, "email", send, LEASE_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
