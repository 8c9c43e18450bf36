"""A bare Starlette route that answers the JSON it was sent: what HTTP and JSON alone cost here."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from laari.process.gc import collect_seldom


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


app = Starlette(routes=[Route("/echo", echo, methods=["POST"])])
collect_seldom()  # as the service does
