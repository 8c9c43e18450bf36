from __future__ import annotations

from pathlib import Path

from tools.clients.document import Interface


def typescript_files(interface: Interface) -> dict[Path, str]:
    return {}
