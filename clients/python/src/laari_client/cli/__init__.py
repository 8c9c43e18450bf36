"""The program `laari-client`, for a merchant's developer; it needs the extra `cli`."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from laari_client.cli._commands import run  # noqa: PLC0415  # click is optional
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("laari-client: click is not installed. Install laari-client[cli].")
    sys.exit(run(sys.argv[1:]))
