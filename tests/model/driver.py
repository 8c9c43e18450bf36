"""Sends the model's calls to the real service, over HTTP."""

import base64
import json
import re
import threading
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import httpx

from tests import shops
from tests.actors import OPERATOR
from tests.model.accounts import CLIENTS, PASSWORD, Accounts
from tests.model.binding import Bound
from tests.model.reference import service as reference
from tests.model.reference.state import Name
from tests.model.reference.steps import Call
from tests.model.reference.times import HOUR, shown
from tests.model.reference.unknowns import Unknown, cursor_of, id_of, link_of
from tests.serving import KEEP_ALL, Service

# No call is sent so shortly before an hour is over: periods and deadlines change at hours and half
# hours of each tenant's clock, and a call has to be on one side of them.
QUIET_SECONDS = 3.0
PATIENCE = 5  # how often a call is sent to a machine so busy that the service turns it away
_UNKNOWN_IDS = {
    **{"payment": "pay_", "refund": "rfd_", "payout": "po_"},
    **{"request": "prq_", "authorization": "auth_"},
}
_PAGE_PATHS = {
    "page_pay": ("/pay/", "/pay"),
    "page_decline": ("/pay/", "/decline"),
    "page_approve": ("/approve/", "/approve"),
    "page_reject": ("/approve/", "/reject"),
}
_APP_PATHS = {
    "app_pay": ("requests", "pay"),
    "app_reject": ("requests", "reject"),
    "app_pause": ("authorizations", "pause"),
    "app_resume": ("authorizations", "resume"),
    "app_revoke": ("authorizations", "revoke"),
}


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any
    replayed: bool
    start: float
    end: float


class Request(NamedTuple):
    method: str
    path: str
    parts: dict[str, Any]


def wait_for_a_quiet_hour() -> None:
    left = HOUR - time.time() % HOUR
    if left < QUIET_SECONDS:
        time.sleep(left + 0.05)


class Driver:
    """Speaks to the service's processes, as every merchant and customer of a case."""

    def __init__(self, processes: list[Service]) -> None:
        self.processes = processes
        self._threads = threading.local()
        self.accounts: Accounts
        self.bound: Bound
        self._form_tokens: dict[str, str]

    def begin(self, accounts: Accounts, bound: Bound) -> None:
        self.accounts = accounts
        self.bound = bound
        self._form_tokens = {}

    def prepare(self, call: Call) -> None:
        """Fetches what a call needs, so that calls at once really are."""
        if call.operation in _PAGE_PATHS or call.operation in _APP_PATHS:
            self._form(call)

    def send(self, call: Call, process: int) -> Reply:
        if call.operation == "update_merchant":
            return self._update_merchant(call)
        request, client = self._request(call), self._client(process)
        for _ in range(PATIENCE):
            start = time.time()
            response = client.request(request.method, request.path, **request.parts)
            end = time.time()
            client.cookies.clear()  # each request says itself who sends it
            if response.status_code != 503:
                break
            # Nothing was begun, so it is sent again. If something was, the model finds out.
            time.sleep(1)
        body = None
        if "application/json" in response.headers.get("content-type", ""):
            body = json.loads(response.text, parse_float=Decimal)
        replayed = response.headers.get("idempotent-replayed") == "true"
        return Reply(response.status_code, body, replayed, start, end)

    def _client(self, process: int) -> httpx.Client:
        """A connection of each thread to each process."""
        clients = self._threads.__dict__.setdefault("clients", {})
        if process not in clients:
            origin = self.processes[process].origin
            clients[process] = httpx.Client(base_url=origin, timeout=30, limits=KEEP_ALL)
        return clients[process]

    def _request(self, call: Call) -> Request:
        if call.operation in reference.OPERATIONS:
            return self._merchant_request(call)
        if call.operation in reference.WALLET_PATHS:
            return self._wallet_request(call)
        if call.operation == "issue_token":
            return self._token_request(call)
        if call.operation == "get_qr":
            return Request("GET", f"/merchant/public/qr/{self.id_of(call.subject)}", {})
        return self._form(call)

    def _merchant_request(self, call: Call) -> Request:
        operation = reference.OPERATIONS[call.operation]
        path = "/merchant" + operation.path
        if call.subject is not None:
            path = path.format(self.id_of(call.subject))
        headers = self._credentials(call)
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        if operation.method == "GET":
            return Request("GET", path, {"headers": headers, "params": self._query(call)})
        if call.body is None:
            return Request("POST", path, {"headers": headers})
        return Request("POST", path, {"headers": headers, "json": dict(call.body)})

    def id_of(self, name: Name | None) -> str:
        assert name is not None
        unknown = id_of(name)
        if unknown.key in self.bound.values:
            return self.bound.text(unknown)
        return _UNKNOWN_IDS[name[0]] + "0" * 32

    def _credentials(self, call: Call) -> dict[str, str]:
        shop, credential = self.accounts.shops[call.merchant], call.credential
        match credential.kind:
            case "key":
                return {"X-API-Key": shop.secret_key}
            case "basic":
                pair = base64.b64encode(f"{shop.id}:{shop.secret_key}".encode()).decode()
                return {"Authorization": f"Basic {pair}"}
            case "token":
                token = Unknown(("token", credential.token), "")
                text = self.bound.values.get(token.key, "at_none")
                return {"Authorization": f"Bearer {text}"}
            case "wrong":
                return {"X-API-Key": shop.secret_key[:-1] + "!"}
        return {}

    def _query(self, call: Call) -> dict[str, Any] | None:
        query = dict(call.query)
        if "after" in query:
            cursor = cursor_of(query["after"])
            query["after"] = self.bound.values.get(cursor.key, "unknown")
        for bound in ("created_from", "created_to"):
            if bound in query:
                query[bound] = shown(query[bound])
        return query or None

    def _wallet_request(self, call: Call) -> Request:
        query = dict(call.query)
        if "before" in query:
            query["before"] = self.bound.text(query["before"])
        own = Unknown((call.customer, "key"), "")
        key = self.accounts.wallet_keys.get(call.customer) or self.bound.text(own)
        path = "/wallet" + reference.WALLET_PATHS[call.operation]
        return Request("GET", path, {"headers": {"X-API-Key": key}, "params": query or None})

    def _token_request(self, call: Call) -> Request:
        kind = next(kind for kind, scopes in CLIENTS.items() if scopes == call.query["client"])
        client, secret = self.accounts.shops[call.merchant].clients[kind]
        if call.credential.kind == "wrong":
            secret = secret[:-1] + "!"
        form = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
        if "scope" in call.query:
            form["scope"] = " ".join(call.query["scope"])
        return Request("POST", "/merchant/oauth/token", {"data": form})

    def _form(self, call: Call) -> Request:
        """What a person sends from a page: a customer's decision, the merchant's refund."""
        if call.operation == "refund":
            cookie = f"laari-dashboard={self.accounts.shops[call.merchant].session}"
            shop = f"/dashboard/{self.accounts.shops[call.merchant].id}/{call.query['mode']}"
            home, path = f"{shop}/account", f"{shop}/payments/{self.id_of(call.subject)}/refund"
        else:
            cookie, home = f"laari={self.accounts.people[call.customer].session}", "/app"
            path = self._page_path(call)
        fields = {"form_token": self._form_token(cookie, home)}
        if call.operation == "refund":
            fields["password"] = PASSWORD  # live refunds ask for it each time
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        return Request("POST", path, {"headers": headers, "data": fields})

    def _page_path(self, call: Call) -> str:
        assert call.subject is not None
        if call.operation in _APP_PATHS:
            noun, action = _APP_PATHS[call.operation]
            return f"/app/{noun}/{self.id_of(call.subject)}/{action}"
        page, action = _PAGE_PATHS[call.operation]
        link = self.bound.text(link_of(call.subject, page))
        return "/" + link.split("/", 3)[3] + action

    def _form_token(self, cookie: str, home: str) -> str:
        if cookie not in self._form_tokens:
            page = self._client(0).get(home, headers={"Cookie": cookie})
            found = re.search(r'name="form_token" value="([0-9a-f]+)"', page.text)
            assert found is not None, page.text
            self._form_tokens[cookie] = found[1]
        return self._form_tokens[cookie]

    def events(self, merchant: str) -> list[dict[str, Any]]:
        """All events of the merchant in its mode, as they are listed."""
        headers = {"X-API-Key": self.accounts.shops[merchant].secret_key}
        found: list[dict[str, Any]] = []
        after = ""
        while True:
            query = {"limit": 100, "after": after}
            page = self._client(0).get("/merchant/events", headers=headers, params=query).json()
            found += page["data"]
            if not page["pagination"]["has_more"]:
                return found
            after = page["pagination"]["next_cursor"]

    def audit(self) -> None:
        """Whatever was done, the books balance."""
        audit = self.processes[0].laari("audit", "--json")
        assert audit.returncode == 0, audit.stdout + audit.stderr
        assert json.loads(audit.stdout)["ok"] is True

    def _update_merchant(self, call: Call) -> Reply:
        """The operator's command line does the same, a second at a time."""
        merchant_id = self.accounts.shops[call.merchant].id
        start = time.time()
        self.processes[0].database.run(
            lambda connection: shops.update(connection, OPERATOR, merchant_id, **call.query)
        )
        return Reply(0, None, False, start, time.time())
