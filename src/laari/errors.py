"""What stops a command, said to a person."""


class LaariError(Exception):
    """One clear line about what is wrong; the command line shows it and exits with status 1."""


class UnavailableError(LaariError):
    """The database is away or too busy, and nothing was begun: the same again is always safe."""


class ConnectionLostError(LaariError):
    """The database went away in the middle: what was being written may or may not be done."""
