"""pytest fixtures for the tests of a shop. Every pytest run imports this, so it imports nothing."""


class SandboxError(Exception):
    """The sandbox does not start, or refused a request of a test."""
