"""A provider for django-payments: customers pay on Laari's hosted page."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from payments import PaymentError, PaymentStatus, RedirectNeeded, get_payment_model
from payments.core import BasicProvider
from payments.models import BasePayment

from laari_client import Laari, LaariError, WebhookVerificationError, models, verify_webhook

STATUSES = {
    "pending": PaymentStatus.WAITING,
    "paid": PaymentStatus.CONFIRMED,
    "rejected": PaymentStatus.REJECTED,
    "expired": PaymentStatus.REJECTED,
    "cancelled": PaymentStatus.CANCELLED,
    "refunded": PaymentStatus.REFUNDED,
}
OPEN = {PaymentStatus.WAITING, PaymentStatus.INPUT}
FAILED = {PaymentStatus.REJECTED, PaymentStatus.CANCELLED, PaymentStatus.ERROR}
REFUND = (PaymentStatus.CONFIRMED, PaymentStatus.REFUNDED)
UNAUTHORIZED = 401
IGNORED = 202  # an event that this shop has no use for: Laari does not send it again


class LaariProvider(BasicProvider):
    """`sandbox` says which events count: play money does not pay a live order."""

    def __init__(self, url: str, secret_key: str, sandbox: bool = False) -> None:
        super().__init__()
        self.client = Laari(url, secret_key)
        self._secret_key = secret_key
        self._mode = "sandbox" if sandbox else "active"

    def get_form(self, payment: BasePayment, data: object = None) -> None:
        """Always raises `RedirectNeeded`. Calling it again leads to the same Laari payment."""
        try:
            made = self.client.payments.create(
                reference=payment.token,
                amount=amount_in_laari(payment),
                title=payment.description[:255] or None,
                return_url=self.get_return_url(payment),
            )
        except LaariError as error:
            raise PaymentError(f"Laari did not create the payment: {error.message}") from error
        self._settle(payment, made)
        is_open = payment.status in OPEN
        raise RedirectNeeded(made.payment_url if is_open else _next_page(payment))

    def get_token_from_request(self, payment: BasePayment | None, request: HttpRequest) -> str:
        """The payment that a webhook is about. django-payments answers with the error's code."""
        try:
            event = self._event(request)
        except WebhookVerificationError as error:
            raise PaymentError(error.message, code=UNAUTHORIZED) from error
        known = get_payment_model()._default_manager
        if event is None or not known.filter(token=event.reference).exists():
            raise PaymentError("The event is not about a payment of this shop.", code=IGNORED)
        return event.reference

    def process_data(self, payment: BasePayment, request: HttpRequest) -> HttpResponse:
        """A webhook is a POST; a customer who returns from the hosted page comes with GET."""
        if request.method == "POST":
            try:
                event = self._event(request)
            except WebhookVerificationError:
                return HttpResponse(status=UNAUTHORIZED)
            if event is None or event.reference != payment.token:
                return HttpResponse(status=IGNORED)
            self._settle(payment, event)
            return HttpResponse(status=204)
        with suppress(PaymentError):  # Laari is away: the webhook settles the payment later
            self.refresh(payment)
        return HttpResponseRedirect(_next_page(payment))

    def refresh(self, payment: BasePayment) -> None:
        """Asks Laari for the status. Declined payments have no webhook."""
        if not payment.transaction_id:
            return
        try:
            found = self.client.payments.get(payment.transaction_id)
        except LaariError as error:
            raise PaymentError(f"Laari did not tell the status: {error.message}") from error
        self._settle(payment, found)

    def cancel(self, payment: BasePayment) -> None:
        if not payment.transaction_id:
            return  # the customer has never been sent to Laari
        try:
            self.client.payments.cancel(payment.transaction_id)
        except LaariError as error:
            raise PaymentError(f"Laari did not cancel the payment: {error.message}") from error

    def refund(self, payment: BasePayment, amount: Decimal | None = None) -> Decimal:
        """Refunds this amount, or all that is left. The captured amount tells refunds apart.

        So a refund that is repeated after a timeout is made once, and the next part is another.
        """
        captured = payment.captured_amount
        wanted = captured if amount is None else Decimal(amount)
        try:
            made = self.client.payments.refund(
                payment.transaction_id,
                amount=_in_laari(wanted),
                idempotency_key=f"{payment.token}-{captured}-{wanted}",
            )
        except LaariError as error:
            raise PaymentError(f"Laari did not refund the payment: {error.message}") from error
        if wanted == captured:
            # The webhook says the same at this moment: one of both changes the status.
            self.refresh(payment)
            payment.captured_amount = captured  # django-payments subtracts the refund from it
        return Decimal(made.amount) / 100

    def _event(self, request: HttpRequest) -> models.Payment | None:
        """The payment of a genuine webhook; None if it is about something else or another mode."""
        signature = request.headers.get("Service-Signature")
        event = verify_webhook(request.body, signature, self._secret_key)
        if event.mode != self._mode:
            return None
        if isinstance(event, models.RefundEvent):
            return event.data.payment  # as it was right after the refund
        return event.data if isinstance(event, models.PaymentEvent) else None

    def _settle(self, payment: BasePayment, found: models.Payment) -> None:
        """Takes over the status once, however often and in whatever order it is reported."""
        with transaction.atomic():
            stored = type(payment)._default_manager.select_for_update().get(pk=payment.pk)
            if not stored.transaction_id:
                stored.transaction_id = found.id
                stored.save(update_fields=["transaction_id"])
            status = STATUSES.get(found.status, PaymentStatus.WAITING)
            ends = stored.status in OPEN and status not in OPEN
            same = (found.id, found.amount) == (stored.transaction_id, amount_in_laari(stored))
            if ends and not same:
                stored.change_status(PaymentStatus.ERROR, f"{found.id} has another amount or id.")
            elif ends or (stored.status, status) == REFUND:
                paid = status == PaymentStatus.CONFIRMED
                stored.captured_amount = stored.total if paid else Decimal(0)
                stored.save(update_fields=["captured_amount"])
                stored.change_status(status)
        payment.refresh_from_db()


def amount_in_laari(payment: BasePayment) -> int:
    """The total as Laari wants it: 125.50 MVR is 12550."""
    if payment.currency != "MVR":
        raise PaymentError(f"Laari takes MVR only, not {payment.currency}.")
    return _in_laari(Decimal(payment.total))


def _in_laari(mvr: Decimal) -> int:
    laari = mvr * 100
    if laari <= 0 or laari != laari.to_integral_value():
        raise PaymentError(f"{mvr} MVR is not a positive number of whole laari.")
    return int(laari)


def _next_page(payment: BasePayment) -> str:
    """A payment that still waits is no failure: the customer might pay again."""
    failed = payment.status in FAILED
    return payment.get_failure_url() if failed else payment.get_success_url()
