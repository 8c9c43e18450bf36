"""Where a user's caches belong."""

import os
from pathlib import Path


def cache_directory() -> Path | None:
    """Where caches of this user belong; None where that is not known."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return base / "laari" / "testing"
