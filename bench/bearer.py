"""What a Bearer token costs beside an API key: reading payments with either, in turn, in one run.

python -m bench.bearer
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

from bench.service import Service, running

CLIENTS = 64
ROUNDS = 7  # of each, in turn: a busy moment of the machine meets both
SECONDS = 3
PAYMENTS = 200
WANTED = 0.9

_SCRIPT = """
local ids, n = {%s}, 0
function request()
  n = n %% #ids + 1
  return wrk.format("GET", "/merchant/payments/" .. ids[n])
end
"""


def run(directory: Path) -> dict[str, Any]:
    with running(directory) as service:
        merchant = service.laari("merchant", "create", "Bench")
        key = {"X-API-Key": merchant["secret_key"]}
        ids = [_create(service, key, number) for number in range(PAYMENTS)]
        script = directory / "get.lua"
        script.write_text(_SCRIPT % ", ".join(f'"{each}"' for each in ids))
        bearer = {"Authorization": f"Bearer {_token(service, merchant['merchant_id'])}"}
        found: dict[str, list[float]] = {"key": [], "bearer": []}
        for _ in range(ROUNDS):
            found["key"].append(_drive(service, script, key))
            found["bearer"].append(_drive(service, script, bearer))
    ratio = median(b / k for k, b in zip(found["key"], found["bearer"], strict=True))
    return {
        "clients": CLIENTS,
        "key_per_second": round(median(found["key"])),
        "bearer_per_second": round(median(found["bearer"])),
        "ratio": round(ratio, 3),
        "wanted": f"at least {WANTED}",
    }


def _post(url: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    assert url.startswith("http://127.0.0.1:")
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)  # type: ignore[no-any-return]


def _create(service: Service, key: dict[str, str], number: int) -> str:
    body = json.dumps({"reference": f"r{number}", "amount": 100}).encode()
    headers = {**key, "Content-Type": "application/json"}
    data = _post(f"{service.origin}/merchant/payments", body, headers)["data"]
    return str(data["id"])


def _token(service: Service, merchant_id: str) -> str:
    client = service.laari("client", "create", merchant_id)
    form = (
        f"grant_type=client_credentials&client_id={client['client_id']}"
        f"&client_secret={client['client_secret']}"
    )
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = _post(f"{service.origin}/merchant/oauth/token", form.encode(), headers)
    return str(answer["access_token"])


def _drive(service: Service, script: Path, headers: dict[str, str]) -> float:
    """Requests per second with these headers."""
    shown = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    load = ["-t1", f"-c{CLIENTS}", f"-d{SECONDS}s", "-s", str(script)]
    result = subprocess.run(
        ["wrk", *load, *shown, service.origin],
        capture_output=True,
        text=True,
        timeout=SECONDS + 30,
        check=True,
    )
    rate = re.search(r"Requests/sec:\s+([\d.]+)", result.stdout)
    assert rate is not None, result.stdout
    assert "Non-2xx" not in result.stdout, result.stdout
    assert "Socket errors" not in result.stdout, result.stdout
    return float(rate[1])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="laari-bench-") as directory:
        print(json.dumps(run(Path(directory)), indent=2))
