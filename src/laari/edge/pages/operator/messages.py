"""Messages to people: the newest, and those that failed, which can be sent again."""

from typing import get_args

from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.person import long
from laari.edge.pages.request import FormProblem, Problem
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply
from laari.rules import ids
from laari.store.outbox import messages as outbox
from laari.store.reads import messages
from laari.store.reads.messages import MessageStatus

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


async def _resend(request: OperatorRequest) -> Reply | Problem:
    message_id = ids.read_id(ids.MESSAGE, request.params["id"])
    if message_id is None:
        return request.missing()
    if not await request.backend.write(outbox.resend, message_id):
        return FormProblem(409, "This message has not failed, or is gone.")
    return request.redirect("/messages", done="resent")


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/messages", get=show, needs="messages.read"),
    PageRoute(
        OperatorRequest, "/messages/{id}/resend", post=_resend, page=show, needs="messages.resend"
    ),
]
