"""A customer with a browser that has no scripts: logs in on a checkout page and pays.

    python3 customer.py PAYMENT_URL MOBILE PASSWORD [CERTIFICATE_OF_THE_AUTHORITY]

It uses the standard library alone, so that it runs on a machine where nothing is installed.
"""

import ssl
import sys
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from http.cookiejar import CookieJar

NEW_PASSWORD = "seagrass-lagoon-42"
MOST_PAGES = 6


class Forms(HTMLParser):
    """The forms of a page: the address of each, and its fields with their values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((given.get("action", ""), {}))
        elif tag == "input" and "name" in given and self.found:
            self.found[-1][1][given["name"]] = given.get("value", "")


def main() -> None:
    address, mobile, password = sys.argv[1:4]
    trust = ssl.create_default_context(cafile=sys.argv[4]) if len(sys.argv) > 4 else None
    browser = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(CookieJar()), urllib.request.HTTPSHandler(context=trust)
    )
    browser.addheaders = [("Sec-Fetch-Site", "same-origin")]
    known = {
        "identity": mobile,
        "password": password,
        "new": NEW_PASSWORD,
        "repeated": NEW_PASSWORD,
    }
    page = browser.open(address).read().decode()
    for _ in range(MOST_PAGES):
        forms = Forms(page).found
        wanted = [form for form in forms if "password" in form[1] or form[0].endswith("/pay")]
        if not wanted:
            break
        action, fields = wanted[0]
        filled = {name: value or known.get(name, "") for name, value in fields.items()}
        body = urllib.parse.urlencode(filled).encode()
        page = browser.open(urllib.parse.urljoin(address, action), body).read().decode()
        if action.endswith("/pay"):
            break
        page = browser.open(address).read().decode()
    else:
        sys.exit("the page did not lead to the payment")


main()
