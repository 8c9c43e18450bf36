"""A receiver as it is often written first. `laari webhook train` shows what is wrong with it.

    LAARI_SECRET_KEY=sk_… python examples/naive_receiver.py 8081
    laari webhook train http://127.0.0.1:8081/ --secret -

It parses the body before it checks anything and signs its own rendering of it, never looks at the
timestamp, takes a repeated event for an error, and has no answer to types it does not know.
Compare examples/receiver.py.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        timestamp, _, given = self.headers.get("Service-Signature", "").partition(",v1=")
        if given:  # wrong: what is not signed at all gets in
            body = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
            signed = f"{timestamp.removeprefix('t=')}.{body}".encode()
            key = os.environ["LAARI_SECRET_KEY"].encode()
            if hmac.new(key, signed, hashlib.sha256).hexdigest() != given:
                return self.answer(401)
        if event["id"] in seen:
            return self.answer(409)
        seen.add(event["id"])
        if event["type"] not in ("payment.created", "payment.paid"):
            return self.answer(400)
        return self.answer(200)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
