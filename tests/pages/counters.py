"""Shops with a till, and paired devices without a browser."""

import re
from itertools import count
from typing import Any, NamedTuple

import httpx

from tests.pages.forms import Forms, token_in
from tests.pages.owners import Owner, new_owner
from tests.pages.people import Customer
from tests.pages.test_permissions import TILL, logged_in, member
from tests.pages.wallets import pay
from tests.serving import Service

_hosts = count(1)


def elsewhere() -> dict[str, str]:
    """Another address: pairing and static codes are throttled by it."""
    return {"X-Forwarded-For": f"198.51.{next(_hosts) % 250}.7"}


class Shop(NamedTuple):
    service: Service
    owner: Owner
    manager: httpx.Client
    till: str  # the path of its page
    token: str  # of its static code

    @property
    def home(self) -> str:
        return f"/{self.owner.shop.id}/live"

    def press(self, path: str, **fields: str) -> httpx.Response:
        page = self.manager.get(f"{self.home}/tills")
        sent = {"form_token": token_in(page.text), **fields}
        return self.manager.post(self.home + path, data=sent)

    def code(self) -> str:
        """A new pairing code, as the page shows it."""
        found = re.search(
            r'aria-label="Pairing code">(\w{4} \w{4})<', self.press(f"{self.till}/pair").text
        )
        assert found is not None
        return found[1]

    def end_all(self) -> None:
        page = self.manager.get(self.home + self.till).text
        for path in re.findall(r'action="[^"]*(/tills/[^"]+/end)"', page):
            assert self.press(path).status_code == 303

    def payments(self) -> list[Any]:
        return self.service.execute(
            "SELECT p.* FROM payments p JOIN tenants t ON t.id = p.tenant_id "
            "WHERE t.merchant_id = $1 ORDER BY p.created_at",
            self.owner.shop.id,
        )


class Device:
    """A paired device without a browser."""

    def __init__(self, shop: Shop, code: str | None = None) -> None:
        self.origin = shop.service.origin
        self.forms = Forms(**elsewhere())
        page = f"{self.origin}/counter/pair"
        fields = {"form_token": self.forms.token(page), "code": code or shop.code()}
        self.answer = self.forms.send(page, fields)

    def get(self, path: str = "") -> httpx.Response:
        return self.forms.http.get(f"{self.origin}/counter{path}")

    def sell(self, amount: str, reference: str | None = None) -> httpx.Response:
        page = self.get().text
        found = re.search(r'name="reference" value="([^"]+)"', page)
        assert found is not None
        token = token_in(page)
        fields = {"form_token": token, "amount": amount, "reference": reference or found[1]}
        return self.forms.send(f"{self.origin}/counter/sales", fields)


async def new_shop(service: Service) -> Shop:
    owner = new_owner(service, mode="live", name="Seagull Café", fee_bps=150)
    manager = await logged_in(service, await member(service, owner.shop.id, "manager"))
    made = Shop(service, owner, manager, "", "")
    answer = made.press("/tills/new", name=TILL)
    assert answer.status_code == 303, answer.text
    [row] = service.execute(
        "SELECT l.id, l.token FROM tills l JOIN tenants t ON t.id = l.tenant_id "
        "WHERE t.merchant_id = $1",
        owner.shop.id,
    )
    return made._replace(till=f"/tills/till_{row['id'].hex}", token=row["token"])


async def paid_by(shop: Shop, customer: Customer, row: Any) -> None:
    await pay(shop.owner.shop, customer, {"id": f"pay_{row['id'].hex}"})
