"""A progress bar on standard error, if that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

# Called with the current step, the amount done and the total.
Tell: TypeAlias = Callable[[str, int, int], None]


@contextmanager
def progress_bar(*, in_bytes: bool) -> Iterator[Tell]:
    """Yields the function that moves the bar; it counts bytes or steps."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich import progress  # noqa: PLC0415  # rich loads slowly
    from rich.console import Console  # noqa: PLC0415

    amount = (
        progress.DownloadColumn(binary_units=True) if in_bytes else progress.MofNCompleteColumn()
    )
    columns = ("{task.description}", progress.BarColumn(), amount, progress.TimeElapsedColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Preparing", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield tell
