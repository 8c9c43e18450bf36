"""One process of the tree, started by the supervisor: `python -m laari.process.process ROLE`.

The supervisor passes open files, with their numbers in the environment (`Supervisor._start`).
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import uvloop

from laari.engine.programs import EngineError
from laari.errors import ConnectionLostError, LaariError, UnavailableError
from laari.process.heartbeat import answer_with_stack, beat, tell_ready
from laari.process.logs import configure_logs
from laari.process.open import Service, open_service
from laari.settings import read_settings
from laari.store.postgres.connect import name_connections
from laari.visible import one_line

# The supervisor has reached the database before, so it will probably be back.
_PASSING = (UnavailableError, ConnectionLostError, EngineError)

Work: TypeAlias = Callable[[Service, asyncio.Event], Awaitable[None]]


def main() -> None:
    answer_with_stack()
    configure_logs()
    name_connections(sys.argv[1])
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_work(_role(sys.argv[1])))
    except LaariError as error:
        print(one_line(str(error)), file=sys.stderr)  # noqa: T201  # before there is a log
        sys.exit(os.EX_TEMPFAIL if isinstance(error, _PASSING) else 1)


def _role(name: str) -> Work:
    """Returns the work of this role; imports nothing of the other role, to start fast."""
    if name == "interface":
        from laari.process.interface import serve  # noqa: PLC0415

        return serve
    from laari.workers import background  # noqa: PLC0415

    async def work(service: Service, stop: asyncio.Event) -> None:
        tell_ready()
        await background.run(service.dsn, service.master_key, service.settings, stop)

    return work


async def _work(work: Work) -> None:
    stop = asyncio.Event()
    _stop_when_told(stop)
    beating = asyncio.create_task(beat(), name="heartbeat")
    try:
        async with open_service(read_settings(os.environ)) as service:
            await work(service, stop)
    finally:
        beating.cancel()


def _stop_when_told(stop: asyncio.Event) -> None:
    """Sets `stop` on a signal or when the supervisor ends."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    life = int(os.environ["LAARI_LIFE_FD"])

    def supervisor_ended() -> None:
        loop.remove_reader(life)
        stop.set()

    loop.add_reader(life, supervisor_ended)


if __name__ == "__main__":
    main()
