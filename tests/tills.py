"""Tills with paired devices, made by commands, and what their devices send."""

from typing import NamedTuple

import httpx

from laari.edge.pages.tills.references import SALE, new_reference
from laari.rules.merchants.tills import CreateTill, EndDevice, OfferPairing, PairDevice
from laari.rules.records.tenants import Mode, Tenant
from laari.rules.records.tills import Till, TillDevice
from laari.store.postgres.pool import Connection
from laari.store.reads import tenants
from laari.store.reads.tills import records
from tests.actors import OPERATOR
from tests.pages.forms import token_in
from tests.people import decided
from tests.serving import KEEP_ALL, Merchant


class PairedDevice(NamedTuple):
    shop: Merchant
    tenant: Tenant
    till: Till
    device: TillDevice
    cookie: str

    def end(self) -> None:
        command = EndDevice(OPERATOR, self.tenant, self.till.id, self.device.digest)
        master = self.shop.service.master_key
        self.shop.service.database.run(lambda c: decided(c, command, master=master))


def new_till(shop: Merchant, name: str = "Till 1", mode: Mode = "sandbox") -> PairedDevice:
    """A new till of the shop, with a device."""
    master = shop.service.master_key

    async def make(connection: Connection) -> tuple[Tenant, Till]:
        tenant = await tenants.of_merchant(connection, shop.id, mode)
        till = await decided(connection, CreateTill(OPERATOR, tenant, name), master=master)
        return tenant, till

    return another_device(shop, *shop.service.database.run(make))


def another_device(shop: Merchant, tenant: Tenant, till: Till) -> PairedDevice:
    master = shop.service.master_key

    async def pair(connection: Connection) -> PairedDevice:
        offered = await decided(connection, OfferPairing(OPERATOR, tenant, till.id), master=master)
        digest = records.code_digest(master, offered.code)
        paired = await decided(connection, PairDevice(digest, "Chrome on Android"), master=master)
        return PairedDevice(shop, tenant, till, paired.device, f"laari-till={paired.token}")

    return shop.service.database.run(pair)


class Seller:
    """Sends the forms of a paired device, without a browser."""

    def __init__(self, paired: PairedDevice) -> None:
        headers = {"Cookie": paired.cookie, "Sec-Fetch-Site": "same-origin"}
        self.http = httpx.Client(
            base_url=paired.shop.service.origin, headers=headers, timeout=30, limits=KEEP_ALL
        )
        self._token = token_in(self.http.get("/counter").text)

    def send(self, path: str, **fields: str) -> str:
        """The address to which the answer leads, or its status."""
        answer = self.http.post(f"/counter{path}", data={"form_token": self._token, **fields})
        return answer.headers.get("location") or str(answer.status_code)

    def sell(self, reference: str = "", amount: str = "12.50") -> str:
        return self.send("/sales", amount=amount, reference=reference or new_reference(SALE))
