from __future__ import annotations

from decimal import Decimal

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import include, path
from payments import RedirectNeeded

from shop.models import Payment


def buy(request: HttpRequest) -> HttpResponse:
    """Each visit is an order of its own; the price is the shop's."""
    payment = Payment.objects.create(
        variant="laari", currency="MVR", total=Decimal("125.50"), description="Two coffees"
    )
    try:
        payment.get_form()
    except RedirectNeeded as redirect:
        return HttpResponseRedirect(str(redirect))
    raise AssertionError("the provider always redirects")


def order(request: HttpRequest, token: str) -> HttpResponse:
    payment = get_object_or_404(Payment, token=token)
    return HttpResponse(f"Your payment is {payment.status}.", content_type="text/plain")


urlpatterns = [
    path("", buy),
    path("orders/<str:token>/", order, name="order"),
    path("payments/", include("payments.urls")),
]
