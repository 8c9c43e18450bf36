"""A reusable link: many customers pay at one address, with a fixed amount or one that they type."""

from datetime import datetime
from uuid import UUID

from laari.edge import codes
from laari.edge.pages.request import Access
from laari.edge.pages.routes import Routes
from laari.edge.pages.tills.references import LINK
from laari.edge.pages.tills.static_code import CodeRequest, code_routes
from laari.http.messages import Reply
from laari.rules.ids import is_token
from laari.rules.records.merchants import ReusableLink
from laari.store.reads.merchants import reusable_links


class LinkRequest(CodeRequest):
    prefix = "/link/{token}"
    kind = LINK
    link: ReusableLink

    async def enter(self, access: Access) -> Reply | None:
        token = self.params["token"]
        link = await self.backend.ask(reusable_links.by_token, token) if is_token(token) else None
        if link is None:
            return self.no_such_page()
        self.link, self.purpose, self.fixed = link, link.title, link.amount
        stopped = await self.open(link.tenant_id)
        if stopped is None and not link.takes_payments(self.shop_now):
            return self.page("link_ended.html", 410)
        return stopped

    @property
    def code_id(self) -> UUID:
        return self.link.id

    @property
    def deadline(self) -> datetime:
        """Nothing is paid after the end of the link."""
        usual, end = super().deadline, self.link.ends_at
        return usual if end is None else min(usual, end)


async def show_code(request: LinkRequest) -> Reply:
    return codes.of_link(request.backend.origin, request.link)


ROUTES: Routes = [*code_routes(LinkRequest, show_code)]
