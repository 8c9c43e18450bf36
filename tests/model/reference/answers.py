"""Answers of the merchant interface: a resource in `data`, or a code with its status."""

from typing import Any

from tests.model.reference.state import Answer
from tests.model.reference.unknowns import ANY_TEXT

STATUSES = {
    "invalid_request": 400,
    "customer_not_found": 400,
    "sandbox_recipient_not_allowed": 400,
    "invalid_idempotency_key": 400,
    "unauthorized": 401,
    "insufficient_balance": 402,
    "insufficient_scope": 403,
    "not_found": 404,
    "payment_request_not_found": 404,
    "authorization_not_found": 404,
    "reference_conflict": 409,
    "payment_not_cancellable": 409,
    "payment_request_not_cancellable": 409,
    "payment_conflict": 409,
    "payment_not_refundable": 409,
    "refund_exceeds_payment": 409,
    "insufficient_merchant_balance": 409,
    "payout_not_possible": 409,
    "payout_conflict": 409,
    "payment_in_progress": 409,
    "authorization_unapproved": 409,
    "authorization_inactive": 409,
    "authorization_expired": 409,
    "authorization_not_pending": 409,
    "authorization_unavailable": 409,
    "authorization_not_cancellable": 409,
    "per_payment_limit_exceeded": 409,
    "period_limit_exceeded": 409,
    "total_limit_exceeded": 409,
    "payment_count_limit_exceeded": 409,
    "idempotency_conflict": 409,
    "idempotency_in_progress": 409,
    "wallet_limit_exceeded": 422,
}


class Refused(Exception):  # noqa: N818  # an answer like others, and no error of the model
    """The operation is refused. What it did before, such as a failed line, stays."""

    def __init__(self, code: str, field: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.field = field

    @property
    def answer(self) -> Answer:
        error: dict[str, Any] = {"code": self.code, "message": ANY_TEXT}
        if self.field is not None:
            error["field"] = self.field
        return Answer(STATUSES[self.code], {"error": error})


def code_of(answer: Answer) -> str | None:
    body = answer.body
    return body["error"]["code"] if isinstance(body, dict) and "error" in body else None
