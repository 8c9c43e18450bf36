"""Health: what the person on call looks at first."""

from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.routes import PageRoute
from laari.http.messages import Reply
from laari.rules.health import checks
from laari.store import inbox
from laari.store.reads import health


async def show(request: OperatorRequest) -> Reply:
    found = await request.backend.ask(health.read)
    settings = request.backend.settings
    checked = checks(found, request.now, settings.second_operator_above, settings.sms_per_hour)
    shops = await request.backend.ask(inbox.given_up_shops)
    return request.page("health.html", health=found, checks=checked, given_up=shops)


ROUTES = [PageRoute(OperatorRequest, "/health", get=show, needs="merchants.read")]
