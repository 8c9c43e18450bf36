"""Tills as the people who manage them see them: states, and the devices that are paired."""

import re
from typing import TypeAlias

from laari.edge import codes
from laari.edge.pages.dashboard.money.tills import show_list
from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.merchants.tills import (
    ActivateTill,
    CreateTill,
    DeactivateTill,
    EndDevice,
    OfferPairing,
    Pairing,
)
from laari.rules.records.tills import Till
from laari.store.reads.tills import records

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_Change: TypeAlias = type[ActivateTill] | type[DeactivateTill]


def _page_of(till: Till) -> str:
    return f"/tills/{ids.show_id(ids.TILL, till.id)}"


async def _find(request: DashboardRequest) -> Till | None:
    till_id = ids.read_id(ids.TILL, request.params["id"])
    if till_id is None:
        return None
    return await request.backend.ask(records.find, request.tenant.id, till_id)


async def create(request: DashboardRequest) -> Reply:
    name = request.form.get("name", "")
    till = await request.submit(CreateTill(request.actor, request.tenant, name))
    return request.redirect(_page_of(till), done="till")


async def show(request: DashboardRequest, pairing: Pairing | None = None) -> Reply:
    till = await _find(request)
    if till is None:
        return request.missing()
    return request.page(
        "till.html",
        till=till,
        path=_page_of(till),
        devices=await request.backend.ask(records.devices, till.id, request.now),
        pairing=pairing,
        counter=f"{request.backend.origin}/counter",
    )


async def show_stand(request: DashboardRequest) -> Reply:
    """The static code, to print."""
    till = await _find(request)
    if till is None or not till.active:
        return request.missing()
    address = codes.address(request.backend.origin, till)
    return request.page("till_stand.html", till=till, path=_page_of(till), address=address)


async def pair(request: DashboardRequest) -> Reply:
    """Shows a pairing code once; only its digest is stored."""
    till = await _find(request)
    if till is None:
        return request.missing()
    await request.confirm()
    return await show(
        request, await request.submit(OfferPairing(request.actor, request.tenant, till.id))
    )


async def end_device(request: DashboardRequest) -> Reply:
    till, digest = await _find(request), request.params["digest"]
    if till is None or not _DIGEST.fullmatch(digest):
        return request.missing()
    await request.submit(EndDevice(request.actor, request.tenant, till.id, bytes.fromhex(digest)))
    return request.redirect(_page_of(till), done="device")


async def set_state(request: DashboardRequest) -> Reply:
    till = await _find(request)
    if till is None:
        return request.missing()
    change: _Change = DeactivateTill if request.form.get("state") == "inactive" else ActivateTill
    changed = await request.submit(change(request.actor, request.tenant, till.id))
    done = "till_active" if changed.active else "till_inactive"
    return request.redirect(_page_of(till), done=done)


ROUTES = [
    PageRoute(DashboardRequest, "/tills/new", post=create, page=show_list, needs="tills.manage"),
    PageRoute(DashboardRequest, "/tills/{id}", get=show, needs="tills.manage"),
    PageRoute(DashboardRequest, "/tills/{id}/stand", get=show_stand, needs="tills.manage"),
    PageRoute(DashboardRequest, "/tills/{id}/pair", post=pair, page=show, needs="tills.manage"),
    PageRoute(
        DashboardRequest, "/tills/{id}/state", post=set_state, page=show, needs="tills.manage"
    ),
    PageRoute(
        DashboardRequest,
        "/tills/{id}/devices/{digest}/end",
        post=end_device,
        page=show,
        needs="tills.manage",
    ),
]
