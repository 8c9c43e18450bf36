"""One's own account: the password, and the end of all one's sessions."""

from laari.edge.pages.dashboard.desk import ACCOUNT, LOGIN, Desk, desk_route
from laari.edge.pages.password import change_password
from laari.http.messages import Reply
from laari.store.people import logins


async def show(desk: Desk) -> Reply:
    return desk.page("account.html", wrong=None, first="first" in desk.visit.query)


async def set_password(desk: Desk) -> Reply:
    wrong = await change_password(desk.visit, desk.user)
    if wrong is None:
        return desk.go(ACCOUNT, done="password")
    return desk.page("account.html", wrong.status, wrong=wrong.words, first=False)


async def log_out_everywhere(desk: Desk) -> Reply:
    """For a machine that was lost, or a browser that one forgot to leave."""
    await desk.backend.write(logins.end_all, desk.user.whose)
    await desk.visit.end_session()
    return desk.visit.go(LOGIN)


ROUTES = [
    desk_route(ACCOUNT, get=show, post=set_password, own=True),
    desk_route(f"{ACCOUNT}/logout-everywhere", post=log_out_everywhere, own=True),
]
