"""How long a browser is known: a log-in from another one is "on a new device"."""

from datetime import timedelta

KNOWN_BROWSER_LIFE = timedelta(days=365)  # of the mark that the browser keeps
