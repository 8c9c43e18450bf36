"""One process of the tree, started by the supervisor: `python -m laari.process.process ROLE`.

What it shares with the others comes as open files, named in the environment:

    LAARI_LISTEN_FD          the listening socket
    LAARI_METRICS_LISTEN_FD  the one for the metrics alone, unless they are on the main one
    LAARI_RATE_FD            the memory of the rate buckets
    LAARI_METRICS_FD         the memory of the metrics; LAARI_PROCESS says which part is this one's
    LAARI_LIFE_FD            a pipe that ends when the supervisor does
    LAARI_HEARTBEAT_FD       a pipe to say that this process lives and accepts work
    LAARI_STACK_FD           a file for the stacks of one that hangs
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
from laari.visible import one_line

# The supervisor had the database before it started this process: it will be back.
_PASSING = (UnavailableError, ConnectionLostError, EngineError)

Work: TypeAlias = Callable[[Service, asyncio.Event], Awaitable[None]]


def main() -> None:
    answer_with_stack()
    configure_logs()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_work(_role(sys.argv[1])))
    except LaariError as error:
        print(one_line(str(error)), file=sys.stderr)  # noqa: T201  # before there is a log
        sys.exit(os.EX_TEMPFAIL if isinstance(error, _PASSING) else 1)


def _role(name: str) -> Work:
    """What this process does. It imports nothing for the other role: it is back sooner so."""
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
    """By a signal, or by the end of the supervisor: nobody else would end this process then."""
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
