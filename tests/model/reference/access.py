"""Who is calling, in which mode, and what for."""

from tests.model.reference.answers import Refused
from tests.model.reference.state import Answer, State, Tenant, Token
from tests.model.reference.steps import Call
from tests.model.reference.times import DAY
from tests.model.reference.unknowns import ANY_TEXT, Unknown

SCOPES = (
    "payments:create",
    "payments:read",
    "payments:cancel",
    "payment_requests:create",
    "payment_requests:read",
    "payment_requests:cancel",
    "authorizations:create",
    "authorizations:read",
    "authorizations:charge",
    "authorizations:cancel",
)
ALL_SCOPES = (*SCOPES, "payments:refund", "balance:read", "payouts:read")  # the last by name only


def tenant_of(state: State, call: Call, at: float) -> tuple[Tenant, frozenset[str]]:
    """The merchant in its mode of this moment, and its scopes. Keys grant all of them."""
    credential = call.credential
    merchant = state.merchants[call.merchant]
    scopes = frozenset(ALL_SCOPES)
    if credential.kind in ("wrong", "none") or not merchant.active:
        raise Refused("unauthorized")
    if credential.kind == "token":
        token = state.tokens.get(credential.token)
        if token is None or not _is_alive(state, token, at):
            raise Refused("unauthorized")
        scopes = token.scopes
    return Tenant(call.merchant, merchant.mode), scopes


def _is_alive(state: State, token: Token, at: float) -> bool:
    """A day on the clock of the mode that it is used in, and no more than a day of real time."""
    merchant = state.merchants[token.merchant]
    moved = merchant.sandbox_offset - token.sandbox_offset if merchant.mode == "sandbox" else 0
    return at + max(0, moved) < token.issued + DAY


def issue_token(state: State, call: Call, at: float) -> Answer:
    """The client's own scopes, or those of them that are asked for."""
    merchant = state.merchants[call.merchant]
    if not merchant.active or call.credential.kind == "wrong":
        return _token_error(401, "invalid_client")
    own = tuple(call.query["client"])
    asked = call.query.get("scope")
    if asked is not None and not set(asked) <= set(own):
        return _token_error(400, "invalid_scope")
    granted = own if asked is None else asked
    token = Token(call.merchant, frozenset(granted), at, merchant.sandbox_offset)
    state.tokens[call.number] = token
    body = {
        "access_token": Unknown(("token", call.number), r"at_\S+"),
        "token_type": "Bearer",
        "expires_in": DAY,
        "scope": " ".join(scope for scope in ALL_SCOPES if scope in granted) or None,
    }
    return Answer(200, body)


def _token_error(status: int, error: str) -> Answer:
    return Answer(status, {"error": error, "error_description": ANY_TEXT})
