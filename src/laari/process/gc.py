"""The frequency of Python's garbage collection."""

import gc


def collect_seldom() -> None:
    """Excludes the present objects from collection and collects the rest less often.

    A request leaves hardly any reference cycles.
    """
    gc.collect()
    gc.freeze()
    # With a threshold of 20,000, memory grew by a fifth in a million requests.
    gc.set_threshold(5_000, 10, 10)
