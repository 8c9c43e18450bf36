"""How much of a limit is used, for a bar of a hundred parts."""


def share(used: int, limit: int | None) -> int | None:
    """In hundredths: 0 only where nothing is used and 100 only where all of it is."""
    if limit is None:
        return None
    if used >= limit:
        return 100
    return min(99, max(1, used * 100 // limit)) if used else 0
