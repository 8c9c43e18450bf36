from __future__ import annotations

from django.urls import reverse
from payments.models import BasePayment


class Payment(BasePayment):
    def get_success_url(self) -> str:
        return reverse("order", kwargs={"token": self.token})

    def get_failure_url(self) -> str:
        return reverse("order", kwargs={"token": self.token}) + "?failed"
