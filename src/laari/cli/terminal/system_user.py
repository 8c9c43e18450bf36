"""The system user who runs a command, as the kernel knows them.

Variables such as `LOGNAME` and `SUDO_USER` are not read: anybody can set them.
"""

import os
import pwd
from pathlib import Path

_PROCESSES = Path("/proc")


def system_user() -> str:
    """The name of the real user; of root, the user who became root with sudo or su."""
    user = os.getuid()
    if user == 0:
        user = _became_root(os.getppid())
    return _name(user)


def _became_root(process: int) -> int:
    """The first other user among this process and its parents; root if there is none.

    The real user of a running `sudo` is the person who used it.
    """
    while process > 1:
        try:
            status = (_PROCESSES / str(process) / "status").read_text()
        except OSError:  # it has ended, or the system has no such files
            return 0
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        user = int(fields["Uid"].split()[0])
        if user != 0:
            return user
        process = int(fields["PPid"])
    return 0


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # a container may run under a number without a name
        return str(user)
