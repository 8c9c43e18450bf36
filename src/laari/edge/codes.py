"""What the codes of payments, tills and links say: the only place that knows it.

Today it is the address of a page. A national standard for such codes would replace it here.
"""

from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.records.merchants import ReusableLink
from laari.rules.records.payments import Payment
from laari.rules.records.tills import Till

PNG = "image/png"


def payment_address(origin: str, payment: Payment) -> str:
    return f"{origin}/pay/{payment.token}"


def till_address(origin: str, till: Till) -> str:
    return f"{origin}/till/{till.token}"


def link_address(origin: str, link: ReusableLink) -> str:
    return f"{origin}/link/{link.token}"


def of_payment(origin: str, payment: Payment) -> Reply:
    return _image(payment_address(origin, payment))


def of_till(origin: str, till: Till) -> Reply:
    return _image(till_address(origin, till))


def of_link(origin: str, link: ReusableLink) -> Reply:
    return _image(link_address(origin, link))


def _image(payload: str) -> Reply:
    return Reply(200, qr_png(payload), content_type=PNG.encode())
