"""A page's address with its handlers, and the checks before them.

A GET changes nothing. A POST handler gets a checked form and returns a reply. Whatever refuses the
form raises `RefusedForm`: the page of the route shows why.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from laari.edge.backend import Backend
from laari.edge.input.multipart import MEDIA_TYPE, MultipartError, read_multipart
from laari.edge.load.admission import Overloaded
from laari.edge.pages.request import MAX_FIELDS, Access, PageRequest, RefusedForm, TooFast
from laari.edge.pages.security import stranger
from laari.errors import UnavailableError
from laari.http.messages import ClientGone, Reply, Request, SlowBody
from laari.rules.limits.bodies import MAX_FORM_BYTES, MAX_UPLOADED_TEXT
from laari.rules.people.permissions import Permission

log = logging.getLogger(__name__)

MAX_ESCAPES = MAX_FORM_BYTES // 3  # `%41` takes longer to read than three letters
TOKEN_FIELD = "form_token"  # noqa: S105  # a field's name

P = TypeVar("P", bound=PageRequest)
Handler: TypeAlias = Callable[[P], Awaitable[Reply]]
NO_OPERATION: Mapping[str, Mapping[str, str]] = MappingProxyType({})
Routes: TypeAlias = "list[PageRoute[Any]]"


class PageRoute(Generic[P]):
    """One address. `kind` is the class of request that its handlers receive.

    `page` (default: `get`) shows a refused form again. A GET of a form's own address redirects.
    A route of the dashboard or of the operator names the permission that it `needs`, and for its
    form perhaps another one; `own` routes are about the log-in or the person's own account.
    `upload` are the bytes of the largest file that its form may have; 0 refuses files.
    `runs` are the declared operations that its form runs, with the fields that choose each.
    """

    def __init__(
        self,
        kind: type[P],
        path: str,
        *,
        get: Handler[P] | None = None,
        post: Handler[P] | None = None,
        page: Handler[P] | None = None,
        polled: bool = False,
        own: bool = False,
        hands_out: bool = False,
        needs: Permission | None = None,
        to_change: Permission | None = None,
        upload: int = 0,
        runs: Mapping[str, Mapping[str, str]] = NO_OPERATION,
    ) -> None:
        self.kind = kind
        self.path = kind.prefix + path
        self.get = get
        self.post = post
        self.runs = runs
        self.access = Access(polled, own, hands_out, needs, to_change or needs)
        self._page = page or get
        if upload and needs is None:
            raise ValueError(f"{self.path}: only people with a permission may upload a file")
        self._longest_upload = upload and upload + MAX_UPLOADED_TEXT

    @property
    def operations(self) -> list[str]:
        """The names in metrics, such as `GET /pay/{token}`."""
        methods = ("GET",) if self.post is None else ("GET", "POST")
        return [f"{method} {self.path}" for method in methods]

    async def serve(self, backend: Backend, http: Request, params: dict[str, str]) -> Reply:
        http.operation = self.operations[http.method == "POST"]  # HEAD counts as GET
        request = self.kind(backend, http, params)
        try:
            reply = await self._handle(request)
        except ClientGone:
            raise
        except TooFast as fast:
            reply = request.come_back(429, "too_fast", fast.seconds)
        except Overloaded as full:
            reply = request.come_back(503, "busy", full.retry_after)
            if http.method == "GET":  # one of several tabs, perhaps: each comes back by itself
                reply = reply.plus((b"refresh", str(full.retry_after).encode()))
        except UnavailableError:
            reply = request.come_back(503, "unavailable", 1)
        except Exception:
            log.exception("%s failed", http.operation, extra={"request_id": http.id})
            reply = request.refusal(500, "unexpected")
        return request.finish(reply)

    async def _handle(self, request: P) -> Reply:
        if request.backend.settings.require_https and not request.http.secure:
            return request.refusal(403, "https")
        if "\0" in request.path:  # no id has one, and the database cannot look for it
            return request.no_such_page()
        is_form = request.http.method == "POST"
        stopped = _refused_stranger(request) if is_form else None
        stopped = stopped or await request.enter(self.access)
        if stopped is not None:
            return stopped
        if not is_form:
            return request.go(request.home) if self.get is None else await self.get(request)
        # Only now: nobody makes us read a form of a page that they may not use.
        if request.http.media_type == MEDIA_TYPE:
            return await self._handle_upload(request)
        form = read_form(request.http)
        return await self._handle_form(request, form)

    async def _handle_upload(self, request: P) -> Reply:
        length = request.http.declared_length
        if length is None or length > self._longest_upload or request.whose is None:
            return request.refusal(400, "unreadable")
        with request.backend.heavy.uploads.place(request.whose):
            try:
                read = await read_multipart(request.http, MAX_FIELDS, MAX_UPLOADED_TEXT)
            except MultipartError:
                return request.refusal(400, "unreadable")
            except SlowBody:
                return request.refusal(408, "unreadable")
            # It may have taken minutes.
            stopped = await request.enter(self.access)
            if stopped is not None:
                return stopped
            request.files = read.files
            return await self._handle_form(request, read.fields)

    async def _handle_form(self, request: P, form: dict[str, str] | None) -> Reply:
        if form is None:
            return request.refusal(400, "unreadable")
        if not request.token_fits(form.pop(TOKEN_FIELD, "")):
            return request.refusal(403, "stale", back=request.home)
        request.form = form
        assert self.post is not None  # the router knows the methods
        try:
            return await request.ask_password(self.access) or await self.post(request)
        except RefusedForm as refused:
            request.problem = refused.problem
        assert self._page is not None, f"{self.path} has no page to show a refused form"
        return await self._page(request)


def _refused_stranger(request: PageRequest) -> Reply | None:
    """A reply to a form that does not come from one of our pages, by its headers."""
    problem = stranger(request.http, request.backend.origin)
    if problem is None:
        return None
    ours = request.backend.origin + request.home if problem == "other_address" else None
    return request.refusal(403, problem, back=ours)


def read_form(http: Request) -> dict[str, str] | None:
    """The last field of a name counts."""
    if http.media_type != "application/x-www-form-urlencoded":
        return None
    body = http.body(MAX_FORM_BYTES)
    if body is None or body.count(b"%") > MAX_ESCAPES:
        return None
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        return None
    return {name: value for name, value in fields if "\0" not in value}
