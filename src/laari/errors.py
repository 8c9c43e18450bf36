"""Errors that end a command with one line for its user."""


class LaariError(Exception):
    """One line about the problem; the command line shows it and exits with status 1."""


class UnavailableError(LaariError):
    """The database is away or too busy. Nothing was begun, so a retry is safe."""


class ConnectionLostError(LaariError):
    """The database went away in the middle: the write may or may not be done."""
