"""A sandbox for the tests of a shop: pytest fixtures and their parts.

pytest finds the fixtures in `plugin.py` if `laari[testing]` is installed. Every pytest run imports
this package, so it imports nothing.
"""


class SandboxError(Exception):
    """The sandbox does not start, or refused a request of a test."""
