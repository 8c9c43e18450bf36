"""The error of the fixtures."""


class SandboxError(Exception):
    """The sandbox does not start, or does not do what a test needs of it."""
