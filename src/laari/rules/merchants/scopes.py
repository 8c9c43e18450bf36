"""The scopes of credentials; no scope includes another."""

_DEFAULT: dict[str, str] = {
    "payments:create": "Create hosted payments",
    "payments:read": "Read payments, also those of authorizations",
    "payments:cancel": "Cancel payments",
    "payment_requests:create": "Send payment requests to customers",
    "payment_requests:read": "Read payment requests",
    "payment_requests:cancel": "Cancel payment requests",
    "authorizations:create": "Ask customers for authorizations",
    "authorizations:read": "Read authorizations",
    "authorizations:charge": "Charge authorizations",
    "authorizations:cancel": "Cancel authorizations",
}
# A client has these only if they are given by name.
_NAMED: dict[str, str] = {
    "payments:refund": "Refund payments",
    "balance:read": "Read the balance",
    "payouts:read": "Read payouts and their movements",
}

SCOPES = _DEFAULT | _NAMED
DEFAULT_SCOPES = tuple(_DEFAULT)
# Of resources, which have events.
READ_SCOPES = tuple(
    scope for scope in SCOPES if scope.endswith(":read") and scope != "balance:read"
)
