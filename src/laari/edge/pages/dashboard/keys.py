"""Credentials: the secret key, OAuth clients, and the mode in which both act.

Each form names the state it was shown for, so that a reload does not make a second secret.
"""

from laari.edge.pages.dashboard.request import DashboardRequest
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.operations.clients import CREATE, REVOKE
from laari.operations.merchants import END_OLD_KEY, ROTATE_KEY, SET_MODE
from laari.rules.merchants.keys import NewClient, NewKey
from laari.rules.merchants.scopes import DEFAULT_SCOPES, SCOPES
from laari.rules.records.merchants import OAuthClient
from laari.rules.refusals import refuse
from laari.store.merchants import merchants, oauth

NOT_OFFERED = refuse("invalid_request")  # a choice that the form does not offer

# In the words of the forms; overlaps in hours, lifetimes in days.
OVERLAPS = {
    "now": 0,
    "in 1 hour": 1,
    "in 24 hours": 24,
    "in 7 days": 7 * 24,
}
LIFETIMES = {
    "never": "",
    "in 30 days": "30",
    "in 90 days": "90",
    "in 1 year": "365",
}


async def show(
    request: DashboardRequest,
    secret_key: str | None = None,
    client: OAuthClient | None = None,
    client_secret: str | None = None,
) -> Reply:
    """Shows a new secret key, or a new client and its secret, once."""
    return request.page(
        "keys.html",
        clients=await request.backend.ask(oauth.list_clients, request.merchant.id),
        scopes=SCOPES,
        chosen=_chosen(request) or DEFAULT_SCOPES,
        written=request.form if request.problem else {},
        lifetimes=LIFETIMES,
        secret_key=secret_key,
        client=client,
        client_secret=client_secret,
    )


def _chosen(request: DashboardRequest) -> frozenset[str]:
    return frozenset(name for name in SCOPES if name in request.form)


async def ask_rotation(request: DashboardRequest) -> Reply:
    mark = await request.backend.ask(merchants.key_mark, request.merchant.id)
    overlaps = ["now"] if request.merchant.old_key_until else OVERLAPS
    return request.page("rotate.html", mark=mark, overlaps=overlaps)


async def rotate(request: DashboardRequest) -> Reply:
    await request.confirm(always=True)
    hours = OVERLAPS.get(request.form.get("overlap", "now"))
    if hours is None:
        raise RefusedForm.of(NOT_OFFERED)
    given = request.values(ROTATE_KEY, overlap=str(hours))
    new = await request.act(ROTATE_KEY, request.merchant, given)
    assert isinstance(new, NewKey)
    request.merchant = await request.backend.ask(merchants.show, request.merchant.id)
    return await show(request, new.secret_key)


async def ask_end(request: DashboardRequest) -> Reply:
    return request.page("end_old_key.html")


async def end_old_key(request: DashboardRequest) -> Reply:
    await request.confirm(always=True)
    await request.act(END_OLD_KEY, request.merchant, {})
    return request.redirect("/keys", done=END_OLD_KEY.name)


async def create_client(request: DashboardRequest) -> Reply:
    days = LIFETIMES.get(request.form.get("expires", "never"))
    if days is None:
        raise RefusedForm.of(NOT_OFFERED)
    given = request.values(CREATE, scopes=" ".join(_chosen(request)), expires=days)
    await request.confirm()
    made = await request.act(CREATE, request.merchant, given)
    assert isinstance(made, NewClient)
    return await show(request, client=made.client, client_secret=made.secret)


async def _own_client(request: DashboardRequest) -> oauth.Client | None:
    clients = await request.backend.ask(oauth.list_clients, request.merchant.id)
    return next((client for client in clients if client.id == request.params["id"]), None)


async def ask_revocation(request: DashboardRequest) -> Reply:
    client = await _own_client(request)
    return request.missing() if client is None else request.page("revoke.html", client=client)


async def revoke_client(request: DashboardRequest) -> Reply:
    client = await _own_client(request)
    if client is None:
        return request.missing()
    await request.confirm()
    await request.act(REVOKE, client, {})
    return request.redirect("/keys", done=REVOKE.name)


async def ask_mode(request: DashboardRequest) -> Reply:
    return request.page("mode.html")


async def set_mode(request: DashboardRequest) -> Reply:
    """Every later request of the merchant's programs acts in the new mode."""
    given = request.values(SET_MODE)
    await request.confirm(always=True)
    await request.act(SET_MODE, request.merchant, given)
    return request.redirect("/keys", done=SET_MODE.name)


ROUTES = [
    PageRoute(DashboardRequest, "/keys", get=show, needs="keys.manage"),
    PageRoute(
        DashboardRequest,
        "/keys/rotate",
        get=ask_rotation,
        post=rotate,
        needs=ROTATE_KEY.needs,
        runs={ROTATE_KEY.name: {}},
    ),
    PageRoute(
        DashboardRequest,
        "/keys/end-old",
        get=ask_end,
        post=end_old_key,
        needs=END_OLD_KEY.needs,
        runs={END_OLD_KEY.name: {}},
    ),
    PageRoute(
        DashboardRequest,
        "/keys/mode",
        get=ask_mode,
        post=set_mode,
        needs=SET_MODE.needs,
        runs={SET_MODE.name: {}},
    ),
    PageRoute(
        DashboardRequest,
        "/keys/clients",
        post=create_client,
        page=show,
        needs=CREATE.needs,
        runs={CREATE.name: {}},
    ),
    PageRoute(
        DashboardRequest,
        "/keys/clients/{id}",
        get=ask_revocation,
        post=revoke_client,
        needs=REVOKE.needs,
        runs={REVOKE.name: {}},
    ),
]
