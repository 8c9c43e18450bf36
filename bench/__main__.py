"""`make bench`: runs the measurements named (all of them by default) and shows what they found."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import batching, bearer, listing
from bench.load import is_available

RESULTS = Path(__file__).parent / "results.json"

MEASUREMENTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "batching": batching.run,
    "bearer": bearer.run,
    "listing": listing.run,
}


def main() -> None:
    if not is_available():
        sys.exit(
            "make bench drives the service with wrk, which is not installed: apt-get install wrk"
        )
    names = sys.argv[1:] or list(MEASUREMENTS)
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="laari-bench-") as directory:
            found[name] = MEASUREMENTS[name](Path(directory))
        print(f"{name}:", json.dumps(found[name], indent=2))
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")


main()
