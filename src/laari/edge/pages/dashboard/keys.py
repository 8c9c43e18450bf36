"""Credentials: the secret key, OAuth clients, and the mode that both act in.

A secret is shown in the reply to the form that made it and never again. So that a reload of that
reply makes no second one, each form says which state it was made for.
"""

from laari.edge.pages.dashboard.desk import MODES, Desk, desk_route
from laari.edge.pages.visit import read_count
from laari.http.messages import Reply
from laari.rules.refusals import Refusal, refuse
from laari.rules.scopes import SCOPES
from laari.rules.tokens import write_scope
from laari.store.people import merchants, oauth

CHANGED = refuse("conflict", "Something has changed since this page was shown. Nothing was done.")

SANDBOX_ALONE = refuse("invalid_request", "This merchant signed up for the sandbox alone.")


async def show(
    desk: Desk,
    problem: Refusal | None = None,
    chosen: frozenset[str] = frozenset(SCOPES),
    *,
    secret_key: str | None = None,
    client: oauth.Client | None = None,
    client_secret: str | None = None,
) -> Reply:
    return desk.page(
        "keys.html",
        problem=problem,
        clients=await desk.backend.ask(oauth.list_clients, desk.merchant.id),
        scopes=SCOPES,
        chosen=chosen,
        secret_key=secret_key,
        client=client,
        client_secret=client_secret,
    )


async def ask_rotation(desk: Desk, problem: Refusal | None = None) -> Reply:
    mark = await desk.backend.ask(merchants.key_mark, desk.merchant.id)
    return desk.page("rotate.html", problem=problem, mark=mark)


async def rotate(desk: Desk) -> Reply:
    problem = await desk.confirm(always=True)
    if problem is not None:
        return await ask_rotation(desk, problem)
    secret_key = await desk.backend.write(
        merchants.rotate_marked_key,
        desk.backend.master_key,
        desk.merchant.id,
        desk.form.get("mark", ""),
    )
    if secret_key is None:
        return await ask_rotation(desk, CHANGED)
    return await show(desk, secret_key=secret_key)


async def create_client(desk: Desk) -> Reply:
    chosen = frozenset(name for name in SCOPES if name in desk.form)
    scope = write_scope(chosen)
    if not scope:
        message = "Choose at least one scope: a client without any can do nothing."
        return await show(desk, refuse("invalid_request", message))
    problem = await desk.confirm()
    if problem is not None:
        return await show(desk, problem, chosen)
    before = read_count(desk.form.get("clients", ""))
    made = await desk.backend.write(oauth.create_next_client, desk.merchant.id, scope, before)
    if made is None:
        return await show(desk, CHANGED)
    client, secret = made
    return await show(desk, client=client, client_secret=secret)


async def _own_client(desk: Desk) -> oauth.Client | None:
    clients = await desk.backend.ask(oauth.list_clients, desk.merchant.id)
    return next((client for client in clients if client.id == desk.visit.params["id"]), None)


async def ask_revocation(desk: Desk, problem: Refusal | None = None) -> Reply:
    client = await _own_client(desk)
    if client is None:
        return desk.missing()
    return desk.page("revoke.html", problem=problem, client=client)


async def revoke_client(desk: Desk) -> Reply:
    client = await _own_client(desk)
    if client is None:
        return desk.missing()
    problem = await desk.confirm()
    if problem is not None:
        return await ask_revocation(desk, problem)
    await desk.backend.write(oauth.revoke_client, client.id)
    return desk.go("/keys", done="revoked")


async def ask_mode(desk: Desk, problem: Refusal | None = None) -> Reply:
    return desk.page("mode.html", problem=problem)


async def set_mode(desk: Desk) -> Reply:
    """From here on every request of the merchant's programs acts in the other mode."""
    mode = MODES.get(desk.form.get("mode", ""))
    if mode is None:
        return await ask_mode(desk, refuse("invalid_request"))
    if mode == "live" and not desk.merchant.has_live:
        return await ask_mode(desk, SANDBOX_ALONE)
    problem = await desk.confirm(always=True)
    if problem is not None:
        return await ask_mode(desk, problem)
    await desk.backend.write(merchants.update, desk.merchant.id, mode=mode)
    return desk.go("/keys", done="mode")


ROUTES = [
    desk_route("/keys", get=show),
    desk_route("/keys/rotate", get=ask_rotation, post=rotate),
    desk_route("/keys/mode", get=ask_mode, post=set_mode),
    desk_route("/keys/clients", post=create_client),
    desk_route("/keys/clients/{id}", get=ask_revocation, post=revoke_client),
]
