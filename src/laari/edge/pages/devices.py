"""A browser in a few words, such as "Firefox on Android": people recognise their own devices."""

# In this order: a browser names those that it imitates after itself.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
MAX_LENGTH = 80  # characters


def device_of(user_agent: str) -> str | None:
    """None if the browser says nothing; else known words, or the beginning of its own."""
    browser = _first(_BROWSERS, user_agent)
    system = _first(_SYSTEMS, user_agent)
    if browser is not None:
        return browser if system is None else f"{browser} on {system}"
    own = " ".join("".join(c if c.isprintable() else " " for c in user_agent).split())
    return system or own.partition(" ")[0][:MAX_LENGTH] or None


def _first(names: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for mark, name in names if mark in text), None)
