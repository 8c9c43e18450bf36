"""haproxy on a service's own machine: it leads to whichever node Patroni says is the leader."""

from typing import NamedTuple

from campaigns.cluster.nodes import POSTGRES_PORT, REST_PORT

PROXY_PORT = 5433

_CONFIGURATION = """\
global
    maxconn 1000

defaults
    mode tcp
    timeout connect 2s
    timeout check 1s
    timeout client 1h
    timeout server 1h

listen primary
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    option clitcpka
    option srvtcpka
    default-server inter 1s fastinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""


class Server(NamedTuple):
    name: str
    address: str


def configuration(servers: list[Server]) -> str:
    lines = [
        f"    server {name} {address}:{POSTGRES_PORT} check port {REST_PORT}"
        for name, address in servers
    ]
    return _CONFIGURATION.format(port=PROXY_PORT, servers="\n".join(lines))


def url() -> str:
    return f"postgresql://laari@127.0.0.1:{PROXY_PORT}/laari"
