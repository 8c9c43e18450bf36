"""A database node: etcd, Patroni and the PostgreSQL that Patroni runs, on one machine."""

import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

from campaigns.cluster.installed import patroni, postgres_programs
from campaigns.cluster.network import Machine

POSTGRES_PORT = 5432
REST_PORT = 8008
ETCD_PORT = 2379
ETCD_PEER_PORT = 2380

# The shortest time to live that Patroni takes; loop_wait and twice retry_timeout must fit into it.
DYNAMIC = {
    "ttl": 20,
    "loop_wait": 2,
    "retry_timeout": 5,
    "maximum_lag_on_failover": 1_048_576,
    "synchronous_mode": True,
    "synchronous_mode_strict": True,
    "postgresql": {
        "use_pg_rewind": True,
        "parameters": {
            "max_connections": 200,
            "shared_buffers": "64MB",
            "wal_keep_size": "256MB",
            "wal_log_hints": "on",
            # A standby looks for the new leader at once: until one has found it, commits wait.
            "wal_retrieve_retry_interval": "500ms",
            # A standby or a client that has gone silent is given up after seconds, not minutes.
            "wal_sender_timeout": "10s",
            "wal_receiver_timeout": "10s",
            "tcp_keepalives_idle": 5,
            "tcp_keepalives_interval": 2,
            "tcp_keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        },
    },
}


class DatabaseNode:
    def __init__(self, machine: Machine, members: list[Machine], home: Path) -> None:
        self.machine = machine
        self.name = machine.name
        self._members = members
        self._home = home / machine.name
        self._home.mkdir(parents=True)
        self._log = (self._home / "log").open("ab")
        self._env = {"PATH": os.environ["PATH"], "HOME": str(self._home), "LC_ALL": "C"}
        self._etcd: subprocess.Popen[bytes] | None = None
        self._patroni: subprocess.Popen[bytes] | None = None
        # Patroni reads YAML, and JSON is YAML.
        (self._home / "patroni.yml").write_text(json.dumps(self._configuration()))

    @property
    def rest(self) -> str:
        return f"http://{self.machine.address}:{REST_PORT}"

    def dsn(self, database: str) -> str:
        return f"postgresql://postgres@{self.machine.address}:{POSTGRES_PORT}/{database}"

    def start(self) -> None:
        self.start_etcd()
        self.start_patroni()

    def start_etcd(self) -> None:
        address = self.machine.address
        peers = [f"{each.name}=http://{each.address}:{ETCD_PEER_PORT}" for each in self._members]
        options = {
            "name": self.name,
            "data-dir": str(self._home / "etcd"),
            "listen-client-urls": f"http://{address}:{ETCD_PORT}",
            "advertise-client-urls": f"http://{address}:{ETCD_PORT}",
            "listen-peer-urls": f"http://{address}:{ETCD_PEER_PORT}",
            "initial-advertise-peer-urls": f"http://{address}:{ETCD_PEER_PORT}",
            "initial-cluster": ",".join(peers),
            "initial-cluster-token": "laari-faults",
            "heartbeat-interval": "100",
            "election-timeout": "1000",
            "logger": "zap",
            "log-level": "error",
        }
        command = ["etcd", *(f"--{name}={value}" for name, value in options.items())]
        self._etcd = self.machine.start(command, self._log, ordinary=True, env=self._env)

    def start_patroni(self) -> None:
        command = [patroni(), str(self._home / "patroni.yml")]
        self._patroni = self.machine.start(command, self._log, ordinary=True, env=self._env)

    def etcd(self) -> list[psutil.Process]:
        return _tree(self._etcd)

    def postmaster(self) -> psutil.Process:
        return psutil.Process(int((self._home / "data" / "postmaster.pid").read_text().split()[0]))

    def kill_database(self) -> None:
        """Patroni and PostgreSQL end at once; etcd goes on."""
        spared = {process.pid for process in self.etcd()}
        for _ in range(3):  # what was being started at that moment ends as well
            for process in self.machine.processes():
                if process.pid not in spared:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()

    def close(self) -> None:
        for process in (self._etcd, self._patroni):
            if process is not None:
                process.wait(10)
        self._log.close()

    def _configuration(self) -> dict[str, object]:
        address = self.machine.address
        network = f"{address.rpartition('.')[0]}.0/24"
        return {
            "scope": "laari",
            "name": self.name,
            "restapi": {
                "listen": f"{address}:{REST_PORT}",
                "connect_address": f"{address}:{REST_PORT}",
            },
            "etcd3": {"hosts": [f"{each.address}:{ETCD_PORT}" for each in self._members]},
            "bootstrap": {
                "dcs": DYNAMIC,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{address}:{POSTGRES_PORT}",
                "connect_address": f"{address}:{POSTGRES_PORT}",
                "data_dir": str(self._home / "data"),
                "bin_dir": str(postgres_programs()),
                "pgpass": str(self._home / "pgpass"),
                # The network is the test's own: nobody else is on it.
                "pg_hba": [
                    "local all all trust",
                    f"host all all {network} trust",
                    f"host replication all {network} trust",
                ],
                "authentication": {
                    "superuser": {"username": "postgres"},
                    "replication": {"username": "replicator"},
                    "rewind": {"username": "rewinder"},
                },
                "parameters": {"unix_socket_directories": str(self._home)},
            },
            "watchdog": {"mode": "off"},
        }


def _tree(process: subprocess.Popen[bytes] | None) -> list[psutil.Process]:
    if process is None:
        return []
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
