"""Forms sent without a browser, where what counts is the answer and not how it looks."""

import re

import httpx


def token_in(html: str) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', html)
    assert found is not None
    return found[1]


class Forms:
    """A client that sends forms as a browser would."""

    def __init__(self, **headers: str) -> None:
        self.http = httpx.Client(headers={"Sec-Fetch-Site": "same-origin", **headers}, timeout=30)

    def token(self, address: str) -> str:
        return token_in(self.http.get(address).text)

    def send(self, address: str, fields: dict[str, str], **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(address, data=fields, headers=named)

    def log_in(self, address: str, identity: str, password: str, **headers: str) -> httpx.Response:
        """With the log-in form of the page at this address: `/app/login`, or a checkout."""
        fields = {
            "form_token": self.token(address),
            "identity": identity,
            "password": password,
        }
        action = address if address.endswith("/login") else f"{address}/login"
        return self.send(action, fields, **headers)
