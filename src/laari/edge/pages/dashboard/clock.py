"""How far a sandbox's clock is moved, in words."""

_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
_PARTS = 2  # the largest units say enough


def clock_words(seconds: int) -> str:
    """`3 days ahead`, `1 hour and 5 minutes behind`."""
    left, parts = abs(seconds), list[str]()
    for name, size in _UNITS:
        number, left = divmod(left, size)
        if number and len(parts) < _PARTS:
            parts.append(f"{number:,} {name}{'' if number == 1 else 's'}")
    return f"{' and '.join(parts)} {'ahead' if seconds > 0 else 'behind'}"
