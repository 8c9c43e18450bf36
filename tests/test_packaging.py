"""The files of `packaging/` and the images, as far as they need no machine of their own."""

import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[1]
IMAGE = (ROOT / "Containerfile").read_text()


def test_the_packaged_command_keeps_the_directory_of_its_caller(tmp_path: Path) -> None:
    settings, programs, here = (tmp_path / name for name in ("environment", "bin", "here"))
    settings.write_text('LAARI_SUPPORT_CONTACT="300 1234"\n')
    programs.mkdir()
    here.mkdir()
    stand_in = programs / "runuser"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$PWD" "$LAARI_SUPPORT_CONTACT" "$@"\n')
    stand_in.chmod(0o755)
    script = tmp_path / "laari"
    script.write_text(
        (ROOT / "packaging/laari").read_text().replace("/etc/laari/environment", str(settings))
    )
    said = subprocess.run(
        ["sh", script, "bank", "import", "a statement.csv"],
        cwd=here,
        env={"PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:2] == [str(here), "300 1234"]
    assert said[2:5] == ["-u", "laari", "--"]
    assert said[5:] == ["/opt/laari/bin/laari", "bank", "import", "a statement.csv"]


@pytest.mark.parametrize("name", ["compose.yaml", "compose.production.yaml"])
def test_a_compose_file_has_the_health_check_of_the_image(name: str) -> None:
    """An image in the OCI format has none, so the files of compose name it themselves."""
    assert re.search(r'^HEALTHCHECK .* CMD \["laari-ready"\]$', IMAGE, re.MULTILINE)
    assert "COPY packaging/laari-ready /opt/laari/bin/" in IMAGE
    services = re.split(r"^  (?=\w+:$)", (ROOT / name).read_text(), flags=re.MULTILINE)
    (laari,) = (each for each in services if each.startswith("laari:\n"))
    assert "test: [CMD, laari-ready]" in laari


def test_the_health_check_asks_whether_the_service_takes_requests() -> None:
    script = ROOT / "packaging/laari-ready"
    assert os.access(script, os.X_OK)
    assert "http://127.0.0.1:8000/readyz" in script.read_text()
    port = re.search(r'^CMD \["serve".*"--port", "(\d+)"\]$', IMAGE, re.MULTILINE)
    assert port
    assert port[1] == "8000"


class _Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()


def test_the_health_check_passes_by_a_proxy_of_the_environment() -> None:
    with HTTPServer(("127.0.0.1", 0), _Ready) as service:
        Thread(target=service.serve_forever, daemon=True).start()
        script = (ROOT / "packaging/laari-ready").read_text()
        ended = subprocess.run(
            [sys.executable, "-c", script.replace(":8000/", f":{service.server_port}/")],
            # Nothing listens there.
            env={"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"},
            capture_output=True,
            text=True,
            check=False,
        )
        service.shutdown()
    assert (ended.returncode, ended.stderr) == (0, "")
