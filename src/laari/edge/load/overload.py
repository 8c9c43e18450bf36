"""Raised if there is too much to do: nothing was begun, and it may be tried again."""


class Overloaded(Exception):  # noqa: N818  # named for what is the case
    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after  # seconds
