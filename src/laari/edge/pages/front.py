"""The first page of the service: doors for customers, shops and developers."""

from laari.edge.pages.request import PageRequest
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import Reply


async def show(request: PageRequest) -> Reply:
    return request.page("front.html")


ROUTES: Routes = [PageRoute(PageRequest, "/", get=show)]
