"""What the codes of payments and tills say: the only place that knows it.

Today it is the address of a page. A national standard for such codes would replace it here.
"""

from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.records import Payment, Till

PNG = "image/png"


def payment_address(origin: str, payment: Payment) -> str:
    return f"{origin}/pay/{payment.token}"


def till_address(origin: str, till: Till) -> str:
    return f"{origin}/till/{till.token}"


def of_payment(origin: str, payment: Payment) -> Reply:
    return _image(payment_address(origin, payment))


def of_till(origin: str, till: Till) -> Reply:
    return _image(till_address(origin, till))


def _image(payload: str) -> Reply:
    return Reply(200, qr_png(payload), content_type=PNG.encode())
