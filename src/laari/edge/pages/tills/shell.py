"""What a paired device opens without a connection: a page without data, and its worker.

Both have a digest of their content as their address. A page of the counter names its worker, so a
device that gets a page of a new version, or of another language, replaces what it keeps.
"""

import re
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from laari.edge.pages.assets import TYPES, URLS
from laari.edge.pages.language import LANGUAGES
from laari.edge.pages.render import render
from laari.edge.pages.request import PageRequest
from laari.edge.pages.routes import PageRoute, Routes
from laari.http.messages import HTML, Header, Reply

HOME = "/counter"
# A worker controls the pages of its own folder only; this is the counter, and nothing beside it.
_SCOPE: Header = (b"service-worker-allowed", HOME.encode())


class Shell(NamedTuple):
    page: str
    worker: str
    page_address: str
    worker_address: str


@cache
def shell_of(code: str) -> Shell:
    """In the language with this code; the same for all tills."""
    language = LANGUAGES[code]
    page = render(["counter/shell.html"], language, request=None, problem=None, here=HOME)
    address = _address("shell", page)
    files = [address, *re.findall(r'(?:href|src)="(/static/[^"]+)"', page)]
    if language.direction == "rtl":
        files += [url for name, url in URLS.items() if name.endswith(".woff2")]
    worker = render(["counter/worker.js"], language, shell=address, files=sorted(set(files)))
    return Shell(page, worker, address, _address("worker", worker))


def _address(kind: str, text: str) -> str:
    return f"{HOME}/{kind}/{sha256(text.encode()).hexdigest()[:12]}"


async def show(request: PageRequest) -> Reply:
    for shell in map(shell_of, LANGUAGES):
        if request.path == shell.page_address:
            return Reply(200, shell.page.encode(), content_type=HTML)
        if request.path == shell.worker_address:
            return Reply(200, shell.worker.encode(), (_SCOPE,), TYPES[".js"])
    return request.no_such_page()


ROUTES: Routes = [
    PageRoute(PageRequest, f"{HOME}/{kind}/{{digest}}", get=show) for kind in ("shell", "worker")
]
