"""The stored form of the secret of a sign-up."""

from laari.rules.people.customer_signups import REQUEST
from laari.store.secrets import derive


def of_request(master: bytes, handle: str) -> bytes:
    return derive(master, REQUEST, handle)
