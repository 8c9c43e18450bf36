"""Changes of files that survive a power failure."""

import os
from pathlib import Path


def sync_folder(path: Path) -> None:
    """A new name in a folder is safe only after the folder itself is written."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
