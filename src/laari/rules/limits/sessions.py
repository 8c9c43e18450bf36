"""How long log-ins to the pages last."""

from datetime import timedelta

SESSION_IDLE = timedelta(minutes=30)  # a browser that somebody left open
SESSION_LIFE = timedelta(hours=12)  # a working day, however busy
SESSION_SEEN_EVERY = timedelta(minutes=1)  # how exactly the last use is kept, to save writes
