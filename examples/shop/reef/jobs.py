"""What runs by the clock: `python -m reef.jobs charge` every day, `… reconcile` every hour."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone

from reef.shop import Shop, settings_from_environment

MALDIVES = timezone(timedelta(hours=5))  # a month begins when it does for Laari's limits


def main(job: str) -> None:
    shop = Shop(settings_from_environment())
    if job == "charge":
        for number, outcome in shop.charge_members(datetime.now(MALDIVES).date()).items():
            print(f"member {number}: {outcome}")
    elif job == "reconcile":
        shop.reconcile()
    else:
        sys.exit("usage: python -m reef.jobs charge|reconcile")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
