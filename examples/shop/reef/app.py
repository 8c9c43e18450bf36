"""The shop's pages: `uvicorn --factory reef.app:create_app --port 5000`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from laari_client import APIError, LaariError, WebhookVerificationError
from reef.shop import CLUB_FEE, CLUB_TITLE, PRODUCTS, Shop, settings_from_environment

HERE = Path(__file__).parent
MAX_BODY_BYTES = 1_000_000
SEE_OTHER = 303  # after a form: a reload sends nothing again

templates = Jinja2Templates(HERE / "templates")
templates.env.filters["rufiyaa"] = lambda laari: f"MVR {laari // 100:,}.{laari % 100:02}"


def page(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    return templates.TemplateResponse(request, name, values, status_code=status)


def shop_of(request: Request) -> Shop:
    shop: Shop = request.app.state.shop
    return shop


def found(value: Any) -> Any:
    if value is None:
        raise HTTPException(404)
    return value


async def body_of(request: Request) -> bytes:
    """The raw body; one that is longer than anything we expect is not read to its end."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413)
    return body


async def home(request: Request) -> Response:
    return page(request, "home.html", products=PRODUCTS, club=CLUB_TITLE, fee=CLUB_FEE)


async def buy(request: Request) -> Response:
    form = parse_qs((await body_of(request)).decode("utf-8", "replace"))
    product = form.get("product", [""])[0]
    if product not in PRODUCTS:
        raise HTTPException(404)
    shop = shop_of(request)
    order = await run_in_threadpool(shop.order, product)
    # The order has its own address from here on. If Laari cannot be reached, its page offers to
    # go on with the same order.
    return await _to_checkout(request, shop, order)


async def _to_checkout(request: Request, shop: Shop, order: Any) -> Response:
    try:
        url = await run_in_threadpool(shop.checkout, order)
    except LaariError:
        return RedirectResponse(f"/orders/{order.token}", SEE_OTHER)
    return RedirectResponse(url, SEE_OTHER)


async def show_order(request: Request) -> Response:
    shop, token = shop_of(request), request.path_params["token"]
    order, voucher = found(await run_in_threadpool(shop.looked_up, token))
    title, _ = PRODUCTS[order.product]
    return page(request, "order.html", order=order, title=title, voucher=voucher)


async def pay_order(request: Request) -> Response:
    """Goes on with an order: to the payment that waits, or to another after one that ended."""
    shop, token = shop_of(request), request.path_params["token"]
    order, _ = found(await run_in_threadpool(shop.looked_up, token))
    if order.state == "ended":
        order = await run_in_threadpool(shop.try_again, token) or order
    if order.state != "waiting":
        return RedirectResponse(f"/orders/{token}", SEE_OTHER)
    return await _to_checkout(request, shop, order)


async def join(request: Request) -> Response:
    _, url = await run_in_threadpool(shop_of(request).join)
    return RedirectResponse(url, SEE_OTHER)


async def show_member(request: Request) -> Response:
    token = request.path_params["token"]
    member, fees = found(await run_in_threadpool(shop_of(request).member, token))
    return page(request, "member.html", member=member, fees=fees, club=CLUB_TITLE, fee=CLUB_FEE)


async def leave(request: Request) -> Response:
    token = request.path_params["token"]
    await run_in_threadpool(shop_of(request).leave, token)
    return RedirectResponse(f"/members/{token}", SEE_OTHER)


async def hook(request: Request) -> Response:
    body = await body_of(request)
    signature = request.headers.get("Service-Signature")
    try:
        await run_in_threadpool(shop_of(request).take_event, body, signature)
    except WebhookVerificationError:
        return Response("not signed by Laari", status_code=401)
    return Response(status_code=204)


async def laari_failed(request: Request, error: Exception) -> Response:
    """Laari could not be asked: the customer is told to come again, and nothing is lost."""
    request_id = error.request_id if isinstance(error, APIError) else None
    return page(request, "problem.html", 503, request_id=request_id)


async def not_found(request: Request, error: Exception) -> Response:
    return page(request, "problem.html", 404, request_id=None)


def route(path: str, method: str, handler: Callable[[Request], Any]) -> Route:
    return Route(path, handler, methods=[method])


def create_app(shop: Shop | None = None) -> Starlette:
    app = Starlette(
        routes=[
            route("/", "GET", home),
            route("/orders", "POST", buy),
            route("/orders/{token}", "GET", show_order),
            route("/orders/{token}/pay", "POST", pay_order),
            route("/members", "POST", join),
            route("/members/{token}", "GET", show_member),
            route("/members/{token}/leave", "POST", leave),
            route("/hook", "POST", hook),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={LaariError: laari_failed, 404: not_found},
    )
    app.state.shop = shop or Shop(settings_from_environment())
    return app
