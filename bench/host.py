"""What the machine did in a second: whose time it was, and how long everybody waited for the disk.

A slow second is the service's own if neither the host nor the disk took the time.
"""

from pathlib import Path
from typing import NamedTuple

import psutil

_PRESSURE = Path("/proc/pressure/io")


class HostSecond(NamedTuple):
    idle: float  # shares of the processors
    stolen: float  # that the host gave to others
    disk_ms: float  # in which all that could run waited for the disk; 0 where no kernel says so


class Host:
    """Samples, each of the time since the one before."""

    def __init__(self) -> None:
        self._waited = _waited_for_disk()
        psutil.cpu_times_percent()

    def sample(self) -> HostSecond:
        times, before = psutil.cpu_times_percent(), self._waited
        self._waited = _waited_for_disk()
        idle = times.idle + getattr(times, "iowait", 0.0)
        stolen = getattr(times, "steal", 0.0)
        return HostSecond(idle / 100, stolen / 100, (self._waited - before) / 1000)


def _waited_for_disk() -> int:
    """Microseconds since the machine started."""
    try:
        lines = _PRESSURE.read_text().splitlines()
    except OSError:
        return 0
    [full] = [line for line in lines if line.startswith("full")] or ["full total=0"]
    return int(full.rpartition("=")[2])
