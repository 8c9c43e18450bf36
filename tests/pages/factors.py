"""Second factors of a merchant's people: the phone, and a person who has turned one on."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pyotp

from laari.store.reads.people import persons
from tests.factors import turned_on
from tests.pages.owners import Owner

ON_THE_WAY_SECONDS = 5.0


class Phone:
    """An authenticator application that shows each code once, as if time passed."""

    def __init__(self, seed: str) -> None:
        self._totp = pyotp.TOTP(seed)
        self._step = 0

    def code(self) -> str:
        """The next code: of now, or a step behind or ahead, which the service accepts too.

        A code that is a step behind must not become older on its way to the service.
        """
        left = 30 - time.time() % 30
        if left < ON_THE_WAY_SECONDS:
            time.sleep(left)
        current = int(time.time()) // 30
        self._step = max(current - 1, self._step + 1)
        assert self._step <= current + 1, "let the test use fewer codes, or wait"
        return self._totp.at(self._step * 30)


def with_factor(owner: Owner) -> tuple[Phone, list[str]]:
    """Turns on the second factor of a person; returns the phone and the recovery codes."""
    service = owner.shop.service

    async def turn_on(connection: Any) -> tuple[str, list[str]]:
        whose = await persons.find(connection, owner.email)
        assert whose is not None
        before = datetime.now(UTC) - timedelta(minutes=5)
        return await turned_on(connection, whose, before, service.master_key)

    seed, codes = service.database.run(turn_on)
    return Phone(seed), codes
