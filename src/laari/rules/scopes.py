"""The scopes of credentials; no scope includes another."""

SCOPES: dict[str, str] = {
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

READ_SCOPES = tuple(scope for scope in SCOPES if scope.endswith(":read"))
