"""A webhook receiver that passes `laari webhook train`. Python's standard library is all it needs.

    LAARI_SECRET_KEY=sk_… python examples/receiver.py 8080
    laari webhook train http://127.0.0.1:8080/ --secret -

What it does is what any receiver has to do:

1. verify the signature over the raw body, in constant time, before looking at anything in it;
2. refuse timestamps more than five minutes off, and everything that is not signed, with 401;
3. remember event ids, so that a second delivery is acknowledged and does nothing;
4. fulfil by payment id, and never go back: events can come out of order;
5. acknowledge types it does not know, and ignore them.

A real shop keeps `seen` and `fulfilled` in its database, both in the transaction that fulfils.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300
MAX_BODY_BYTES = 1_000_000
HEADER = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")

secret = os.environ.get("LAARI_SECRET_KEY", "").encode()
seen: set[str] = set()
fulfilled: set[str] = set()
lock = threading.Lock()


def is_genuine(header: str, body: bytes) -> bool:
    match = HEADER.fullmatch(header)
    if match is None or abs(time.time() - int(match[1])) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(secret, match[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, match[2])


def take(event: dict) -> str:
    """Does what the event asks for, once; says what it did."""
    with lock:
        if event["id"] in seen:
            return "seen before"
        seen.add(event["id"])
        if event["type"] != "payment.paid":
            return "ignored"
        if event["data"]["id"] in fulfilled:
            return "fulfilled before"
        fulfilled.add(event["data"]["id"])
        return f"fulfilled {event['data']['reference']}"


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BODY_BYTES:
            self.close_connection = True
            return self.answer(413, "too large")
        body = self.rfile.read(length)
        if not is_genuine(self.headers.get("Service-Signature", ""), body):
            return self.answer(401, "not signed by Laari")
        return self.answer(200, take(json.loads(body)))

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    if not secret:
        sys.exit("Set LAARI_SECRET_KEY to the merchant's secret key.")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
