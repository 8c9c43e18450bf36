"""What an interface process holds while it streams every payment as CSV, beside a short export."""

import http.client
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil

from bench import dashboard
from bench.report import Verdict
from bench.service import Service, running
from bench.stage import Stage

WHOLE = "/payments/export.csv"
SHORT = f"{WHOLE}?status=refunded"
EVERY_SECONDS = 0.05  # between two looks at the memory
PAUSE_SECONDS = 2  # before the client reads on: what it has not taken must not pile up
WANTED = 1.1


class Streamed(NamedTuple):
    rows: int
    mib: float  # of the file
    seconds: float
    peak: float  # MiB resident in the interface process


def measure(ready: Stage) -> list[Verdict]:
    """On a service of its own with one interface process, so that it is known which one streams."""
    cookie = dashboard.cookie(ready)
    with running(ready.data_dir, workers=1) as service:
        idle = _resident(_interface(service))
        short = _stream(service, dashboard.home(ready) + SHORT, cookie)
        whole = _stream(service, dashboard.home(ready) + WHOLE, cookie)
        after = _resident(_interface(service))
    ratio = whole.peak / short.peak
    text = (
        f"CSV export of {whole.rows:,} payments ({whole.mib:.0f} MiB, {whole.seconds:.0f} s): peak"
    )
    text += f" memory ÷ that of {short.rows:,} (MiB: {idle:.1f} before, {short.peak:.1f} and"
    text += f" {whole.peak:.1f} at most, {after:.1f} after)"
    return [Verdict(text, round(ratio, 3), f"at most {WANTED:g}", ratio <= WANTED)]


def _interface(service: Service) -> psutil.Process:
    children = psutil.Process(service.pid).children()
    return next(child for child in children if child.cmdline()[-1] == "interface")


def _resident(process: psutil.Process) -> float:
    return float(process.memory_info().rss / 2**20)


def _stream(service: Service, path: str, cookie: str) -> Streamed:
    """Reads the file and throws it away, watching the process that sends it."""
    process, peak, done = _interface(service), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(EVERY_SECONDS):
            peak = max(peak, _resident(process))

    watching = threading.Thread(target=watch)
    watching.start()
    connection = http.client.HTTPConnection(urlsplit(service.origin).netloc, timeout=600)
    start, size, lines = time.perf_counter(), 0, 0
    try:
        connection.request("GET", path, headers={"Cookie": cookie})
        response = connection.getresponse()
        assert response.status == 200, response.status
        time.sleep(PAUSE_SECONDS)
        while chunk := response.read(1 << 20):
            size, lines = size + len(chunk), lines + chunk.count(b"\n")
    finally:
        done.set()
        watching.join()
        connection.close()
    return Streamed(lines - 1, size / 2**20, time.perf_counter() - start, peak)
