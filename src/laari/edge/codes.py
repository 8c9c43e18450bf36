"""What the codes of payments, tills and links say: the only place that knows it.

Today it is the address of a page. A national standard for such codes would replace it here.
"""

from typing import TypeAlias

from laari.edge.qr import qr_png
from laari.http.messages import Reply
from laari.rules.records.merchants import ReusableLink
from laari.rules.records.payments import Payment
from laari.rules.records.tills import Till

PNG = "image/png"
Scanned: TypeAlias = Payment | Till | ReusableLink
_PLACES = {Payment: "pay", Till: "till", ReusableLink: "link"}


def address(origin: str, scanned: Scanned) -> str:
    return f"{origin}/{_PLACES[type(scanned)]}/{scanned.token}"


def image(origin: str, scanned: Scanned) -> Reply:
    return Reply(200, qr_png(address(origin, scanned)), content_type=PNG.encode())
