"""Where the processes of the service write what they have to say: standard error."""

from __future__ import annotations

import logging


def configure_logs() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s[%(process)d] %(message)s"
    )
