"""Reverse proxies from Debian in front of the service, each keeping its connections to it open."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.serving import free_port

START_SECONDS = 20

_NGINX = """
daemon off;
error_log {directory}/error.log;
pid {directory}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    upstream laari {{ server {backend}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        ignore_invalid_headers off;
        underscores_in_headers on;
        proxy_request_buffering off;
        location / {{
            proxy_pass http://laari;
            proxy_http_version 1.1;
            proxy_set_header Connection $http_connection;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Host $host;
        }}
    }}
}}
"""

_HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 20s
    timeout server 20s
    option http-keep-alive
    http-reuse always
frontend front
    bind 127.0.0.1:{port}
    default_backend laari
backend laari
    server one {backend}
"""

_CADDY = """
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{port}, http://shop.example:{port} {{
    bind 127.0.0.1
    reverse_proxy {backend}
}}
"""

# The program, its Debian package, its configuration and how it is started.
PROXIES: dict[str, tuple[str, str, Callable[[Path], list[str]]]] = {
    "nginx": (
        "nginx-light",
        _NGINX,
        lambda file: ["nginx", "-c", str(file), "-e", str(file.parent / "error.log")],
    ),
    "haproxy": ("haproxy", _HAPROXY, lambda file: ["haproxy", "-db", "-f", str(file)]),
    "caddy": (
        "caddy",
        _CADDY,
        lambda file: ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)],
    ),
}


def find(name: str) -> str | None:
    return shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin")


@contextmanager
def proxy(name: str, backend: str, directory: Path) -> Iterator[tuple[str, int]]:
    """Runs the proxy before the backend (`host:port`) until the block ends."""
    _, template, command = PROXIES[name]
    port = free_port()
    file = directory / f"{name}.conf"
    file.write_text(template.format(port=port, backend=backend, directory=directory))
    program = find(name)
    assert program is not None
    environment = {"HOME": str(directory), "XDG_DATA_HOME": str(directory)}
    with (directory / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [program, *command(file)[1:]], stdout=log, stderr=log, env=environment
        )
    try:
        _await(process, port, directory / f"{name}.log")
        yield "127.0.0.1", port
    finally:
        process.terminate()
        process.wait(10)


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the proxy did not start:\n{log.read_text()}")
