"""The inbox of the desk: what waits for one person."""

from datetime import UTC, datetime

import pytest

from laari.rules.actors import Actor
from laari.rules.banking.wallet_money import MoveMoney
from laari.store import inbox
from tests.actors import OPERATOR
from tests.store.payout_books import SECOND, a_shop


@pytest.mark.parametrize(
    ("actor", "many"),
    [
        (OPERATOR, 1),
        (Actor("operator", "Tester@laari.mv", "finance"), 1),  # the same person, on the desk
        (SECOND, 2),
        (Actor("operator", "ali@laari.mv", "finance"), 3),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
async def test_a_movement_waits_for_those_who_did_not_ask_for_it(
    dsn: str, actor: Actor, many: int
) -> None:
    async with a_shop(dsn, above=900) as shop:
        for number, asking in enumerate((OPERATOR, SECOND, OPERATOR)):
            details, slip = "Cash", f"slip {number}"
            await shop.run(MoveMoney(asking, None, shop.payer.account, "topup", 901, details, slip))
        moment = datetime.now(UTC)
        found = {
            each.kind: each.many for each in await inbox.read(shop.connection, actor, moment, ())
        }
    assert found == {"movements": many}
