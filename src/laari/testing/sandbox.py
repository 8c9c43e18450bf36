"""The running sandbox of a test session: `laari_sandbox`."""

import httpx

from laari.testing import SandboxError
from laari.testing.merchant import SandboxMerchant
from laari.testing.receiver import Receiver


class Sandbox:
    """The service at `url`; its only merchants are those of the tests."""

    def __init__(self, url: str, http: httpx.Client, receiver: Receiver) -> None:
        self.url = url
        self._http = http
        self._receiver = receiver

    def merchant(self, name: str = "Test shop", **fields: object) -> SandboxMerchant:
        """Makes a merchant; `fields` are those of `POST /sandbox/merchants`, such as `fee_bps`.

        Its webhooks come to this process unless you set `webhook_url`; None switches them off.
        """
        inbox = self._receiver.open_inbox()
        body = {"name": name, "webhook_url": inbox.url, **fields}
        response = self._http.post(f"{self.url}/sandbox/merchants", json=body)
        if response.status_code != 201:
            raise SandboxError(f"no merchant was created: {response.status_code} {response.text}")
        return SandboxMerchant(self.url, response.json(), inbox, self._http)

    def remove(self, merchant: SandboxMerchant) -> None:
        """Drops its webhooks; the service keeps the merchant."""
        self._receiver.close_inbox(merchant.webhooks)

    def __repr__(self) -> str:
        return f"<Sandbox {self.url}>"
