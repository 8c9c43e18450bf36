"""The roles of people, at a merchant and at the operator."""

from typing import Literal, TypeAlias

MerchantRole = Literal["owner", "manager", "accountant", "cashier"]
OperatorRole = Literal["admin", "finance", "support"]
Role: TypeAlias = MerchantRole | OperatorRole

MAX_TILL = 10  # characters, as for the label of a payment
