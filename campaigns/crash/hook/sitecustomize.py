"""Makes the interface processes of a service end at a database call. For tests only.

Python finds this file in every process of a service whose PYTHONPATH names its directory, before
anything of the service is imported; `database_calls.py` says what it does.

A process takes most of a second to import everything. Here it is imported once, and each process
that ends at a point is followed by another fork; the supervisor sees one process that lives.
"""

import os
import signal
import sys


def _stand_in_line(ended_at_a_point: int) -> None:
    """Returns in a new process, and again in another one where that has ended at its point."""
    child = 0

    def pass_on(sent: int, frame: object) -> None:
        if child:
            os.kill(child, sent)

    passed_on = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = {each: signal.signal(each, pass_on) for each in passed_on}
    while True:
        child = os.fork()
        if child == 0:
            for each, handler in before.items():
                signal.signal(each, handler)
            return
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != ended_at_a_point:
            os._exit(abs(status))


if "LAARI_TEST_POINTS" in os.environ and sys.orig_argv[-2:] == [
    "laari.process.process",
    "interface",
]:
    import database_calls

    import laari.process.interface
    import laari.process.process  # noqa: F401

    database_calls.watch()
    _stand_in_line(database_calls.EXITED)
