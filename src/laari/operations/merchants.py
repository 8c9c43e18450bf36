"""What the operator and a shop's own people do with a merchant."""

from laari.operations.fields import Field, Text
from laari.operations.operation import Operation, Subject, command
from laari.rules.actors import Actor
from laari.rules.merchants.settings import MAX_NAME, RenameMerchant
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant

MERCHANT = Subject(
    "shop",
    "",
    (Field("merchant_id", Text(100), positional=True),),
    merchants.find,
    "no merchant has the id {merchant_id}",
    merchants.described,
)


def _rename(actor: Actor, merchant: Merchant, name: str) -> RenameMerchant:
    return RenameMerchant(actor, merchant.id, name)


RENAME = Operation(
    "merchant.rename",
    needs=RenameMerchant.permission,
    subject=MERCHANT,
    fields=(Field("name", Text(MAX_NAME), positional=True),),
    run=command(_rename),
    done="The public name is changed.",
    about="""Change the public name of a merchant.

    Customers see it when they pay. Earlier payments keep the name that they had.
    """,
)
