"""What a process keeps: its memory after many requests beside its memory after few."""

from bench.load import drive
from bench.report import Verdict
from bench.service import Service, running
from bench.stage import Stage

CLIENTS = 64
SECONDS = 5  # of one run; it is repeated until there were enough requests
FEW = 10_000
WANTED = 1.1


def measure(ready: Stage, many: int) -> list[Verdict]:
    """On a service of its own that has answered nothing yet, on the same rows."""
    with running(ready.data_dir) as service:
        after_few = _grown(ready, service, FEW)
        after_many = _grown(ready, service, many)
    ratio = after_many / after_few
    text = f"memory of an interface process after {many:,} requests ÷ after {FEW:,}"
    text += f" ({after_few:.1f} MiB)"
    return [Verdict(text, round(ratio, 3), f"at most {WANTED:g}", ratio <= WANTED)]


def _grown(ready: Stage, service: Service, requests: int) -> float:
    """The memory of the larger interface process after at least so many more requests."""
    target = ready.target._replace(origin=service.origin)
    answered = 0
    while answered < requests:
        answered += drive(target, "mixed", clients=CLIENTS, seconds=SECONDS).requests
    return max(mib for name, mib in service.memory().items() if name.startswith("interface"))
