"""Sandbox controls: the sandbox customer's decisions and wallet, and the clock."""

from collections.abc import Mapping
from typing import TypeVar

from laari.edge.merchant import sandbox as api
from laari.edge.merchant.operations import Write
from laari.edge.pages.dashboard import authorizations, payments, requests
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.dashboard.resource_pages import run_and_show
from laari.edge.pages.request import Access, RefusedForm
from laari.edge.pages.routes import Handler, PageRoute
from laari.http.messages import Reply
from laari.rules.money import read_rufiyaa
from laari.store.reads.people.wallet_keys import sandbox_wallet_key
from laari.store.reads.tiers import all_tiers

T = TypeVar("T")

SECONDS = {"minutes": 60, "hours": 3600, "days": 86_400}


class SandboxRequest(DashboardRequest):
    async def enter(self, access: Access) -> Reply | None:
        stopped = await super().enter(access)
        if stopped is None and self.tenant.mode != "sandbox":
            return self.missing()
        return stopped


def _decisions(controls: Mapping[str, Write[None, T]]) -> Handler[SandboxRequest]:
    """Decisions of the sandbox customer about one resource."""

    async def decide(request: SandboxRequest) -> Reply:
        control = controls.get(request.params["action"])
        if control is None:
            return request.missing()
        return await run_and_show(request, control, "controlled")

    return decide


async def show(request: SandboxRequest) -> Reply:
    account = request.tenant.sandbox_account
    return request.page(
        "sandbox.html",
        wallet_status=await request.backend.wallets.get(account),
        api_key=sandbox_wallet_key(request.backend.master_key, account),
        tiers=await request.backend.ask(all_tiers),
        units=SECONDS,
    )


async def set_wallet(request: SandboxRequest) -> Reply:
    balance = read_rufiyaa(request.form.get("balance", ""))
    if balance is None:
        raise RefusedForm(400, "The balance must be a number such as 1250.50.")
    fields = {"balance": balance, "tier": request.form.get("tier", "")}
    await request.run(api.SET_WALLET, fields)
    return request.redirect("/sandbox", done="wallet")


async def move_clock(request: SandboxRequest) -> Reply:
    fields: dict[str, object] = {"reset": True}
    if "reset" not in request.form:
        number, unit = request.form.get("number", ""), SECONDS.get(request.form.get("unit", ""))
        digits = number.strip().removeprefix("-")
        if unit is None or not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
            raise RefusedForm(400, "Enter a whole number of minutes, hours or days.")
        fields = {"advance_seconds": int(number) * unit}
    await request.run(api.MOVE_CLOCK, fields)
    return request.redirect("/sandbox", done="clock")


_PAYMENT = _decisions(api.PAYMENT_CONTROLS)
_REQUEST = _decisions(api.REQUEST_CONTROLS)
_AUTHORIZATION = _decisions(api.AUTHORIZATION_CONTROLS)
_ACTION = "/{id}/sandbox/{action}"
ROUTES = [
    PageRoute(SandboxRequest, "/sandbox", get=show, hands_out=True, needs="sandbox.control"),
    PageRoute(
        SandboxRequest, "/sandbox/wallet", post=set_wallet, page=show, needs="sandbox.control"
    ),
    PageRoute(
        SandboxRequest, "/sandbox/clock", post=move_clock, page=show, needs="sandbox.control"
    ),
    PageRoute(
        SandboxRequest,
        f"/payments{_ACTION}",
        post=_PAYMENT,
        page=payments.show,
        needs="sandbox.control",
    ),
    PageRoute(
        SandboxRequest,
        f"/requests{_ACTION}",
        post=_REQUEST,
        page=requests.show,
        needs="sandbox.control",
    ),
    PageRoute(
        SandboxRequest,
        f"/authorizations{_ACTION}",
        post=_AUTHORIZATION,
        page=authorizations.show,
        needs="sandbox.control",
    ),
]
