"""Payouts and the movements they consist of; in a sandbox, controls that play the bank."""

from typing import Literal, get_args

from msgspec import Struct

from laari.edge.backend import Backend
from laari.edge.input.fields import NO_BODY, NO_QUERY, Query
from laari.edge.merchant.lists import (
    AFTER,
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    PageQuery,
    page_body,
    read_window,
    status_filter,
)
from laari.edge.merchant.operations import ANY_SCOPE, Context, Operation, Read, Write
from laari.edge.merchant.shared_operations import now_of
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.banking.payouts import AnswerSandboxPayout, SandboxPayout, sandbox_order
from laari.rules.records.payouts import Payout, PayoutStatus
from laari.rules.refusals import Refusal, refuse
from laari.rules.shapes.envelopes import Data, Page, Pagination, to_json
from laari.rules.shapes.payouts import Payout as PayoutShape
from laari.rules.shapes.payouts import PayoutMovement, movement_shape, payout_shape
from laari.store.reads.listing import Position
from laari.store.reads.money import payouts

LISTING = "payouts"
SCOPE = "payouts:read"


class PayoutQuery(PageQuery, frozen=True, kw_only=True):
    status: str | None = None


class MovementQuery(Struct, frozen=True, kw_only=True):
    limit: int = PageQuery().limit
    after: str | None = None


async def _find(context: Context) -> Payout | None:
    found = await context.backend.payouts.get(context.id(ids.PAYOUT))
    return found if found is not None and found.tenant_id == context.tenant.id else None


async def list_payouts(context: Context, query: PayoutQuery) -> Reply | Refusal:
    backend, tenant = context.backend, context.tenant
    window = read_window(query, backend.cursors, LISTING, tenant.id)
    if isinstance(window, Refusal):
        return window
    listing = payouts.of_tenant(tenant.id, now_of(context), window, status=query.status)
    found = await backend.page(listing)
    shapes = await backend.ask(payouts.shapes, found.rows)
    return Reply(200, page_body(shapes, found, window, backend.cursors, LISTING, owner=tenant.id))


async def get_payout(context: Context, query: None) -> Reply | Refusal:
    found = await _find(context)
    if found is None:
        return refuse("not_found")
    [shape] = await context.backend.ask(payouts.shapes, [found])
    return Reply(200, to_json(Data(shape)))


async def list_movements(context: Context, query: MovementQuery) -> Reply | Refusal:
    backend, tenant = context.backend, context.tenant
    payout = await _find(context)
    if payout is None:
        return refuse("not_found")
    listing = f"movements of {payout.id.hex}"
    place = None if query.after is None else backend.cursors.read(listing, tenant.id, query.after)
    after = None if place is None else Position(*place)
    found = await backend.ask(payouts.movements, payout, query.limit, after)
    cursor = None if found.next is None else backend.cursors.make(listing, tenant.id, *found.next)
    pagination = Pagination(query.limit, has_more=cursor is not None, next_cursor=cursor)
    return Reply(200, to_json(Page(list(map(movement_shape, found.rows)), pagination)))


LIST = Read(
    path="/payouts",
    name="list_payouts",
    summary="List payouts, newest first",
    scope=SCOPE,
    get=list_payouts,
    query=Query(
        PayoutQuery, LIMIT, AFTER, CREATED_FROM, CREATED_TO, status_filter(*get_args(PayoutStatus))
    ),
    shape=PayoutShape,
    is_list=True,
    description="Clients need the scope by name.",
)
GET = Read(
    path="/payouts/{id}",
    name="get_payout",
    summary="Get a payout",
    scope=SCOPE,
    query=NO_QUERY,
    get=get_payout,
    shape=PayoutShape,
    refusals=("not_found",),
)
MOVEMENTS = Read(
    path="/payouts/{id}/movements",
    name="list_payout_movements",
    summary="List the movements of a payout, newest first",
    scope=SCOPE,
    query=Query(MovementQuery, LIMIT, AFTER),
    get=list_movements,
    shape=PayoutMovement,
    is_list=True,
    refusals=("not_found",),
    description="Everything that changed the balance since the previous payout, and the fee of the "
    "payout. The sum of the amounts is the amount of the payout.",
)


def _in_sandbox(payout: Payout, backend: Backend) -> PayoutShape:
    return payout_shape(payout, [sandbox_order(payout)], ())


SANDBOX_CREATE = Write(
    path="/sandbox/payouts",
    name="sandbox_create_payout",
    summary="Pay out all that is available in the sandbox",
    scope=ANY_SCOPE,
    status=201,
    body=NO_BODY,
    command=lambda context, fields: SandboxPayout(context.tenant, context.caller.actor),
    show=_in_sandbox,
    shape=PayoutShape,
    sandbox_only=True,
    refusals=("not_found", "payout_not_possible"),
    description="The payout is `sent` at once. Settle or return it as the bank would.",
)


def _answer(action: Literal["settle", "return"], summary: str) -> Write[None, Payout]:
    return Write(
        path=f"/sandbox/payouts/{{id}}/{action}",
        name=f"sandbox_{action}_payout",
        summary=summary,
        scope=ANY_SCOPE,
        body=NO_BODY,
        command=lambda context, fields: AnswerSandboxPayout(
            context.tenant, context.id(ids.PAYOUT), action
        ),
        show=_in_sandbox,
        shape=PayoutShape,
        sandbox_only=True,
        refusals=("not_found", "payout_conflict"),
    )


SANDBOX_SETTLE = _answer("settle", "Confirm a payout as the bank")
SANDBOX_RETURN = _answer("return", "Return a payout as the bank; the money is available again")

OPERATIONS: tuple[Operation, ...] = (
    LIST,
    GET,
    MOVEMENTS,
    SANDBOX_CREATE,
    SANDBOX_SETTLE,
    SANDBOX_RETURN,
)
