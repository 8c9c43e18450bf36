"""Messages to people: the newest, and those that failed, which can be sent again."""

from typing import get_args

from laari.edge.pages.operator.forms import plain_form
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.operations.messages import RESEND
from laari.rules.records.messages import MessageStatus
from laari.store.reads import messages

MOST_LISTED = 100
STATUSES = get_args(MessageStatus)


@long
async def show(request: OperatorRequest) -> Reply:
    asked = request.query.get("status", "")
    status: MessageStatus | None = next((each for each in STATUSES if each == asked), None)
    found = await request.backend.ask(messages.newest, status=status, limit=MOST_LISTED)
    return await request.long_page(
        "messages.html", rows=found, status=status, statuses=STATUSES, most=MOST_LISTED
    )


def _back(*_: object) -> str:
    return "/messages"


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/messages", get=show, needs="messages.read"),
    plain_form("/messages/{message_id}/resend", RESEND, show, _back),
]
