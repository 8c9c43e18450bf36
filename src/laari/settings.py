"""Settings: the environment read once into one frozen object."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from laari.errors import LaariError

Network: TypeAlias = IPv4Network | IPv6Network

MASTER_KEY_BYTES = 32
_MAPPED_BITS = 96  # before the IPv4 address in an IPv6 address
MAX_DAYS = 36_500  # a century
MAX_LINE = 200
MIN_TOKEN = 16  # characters: more than anybody guesses over the network


class SettingsError(LaariError):
    """A variable whose value cannot be used."""


class Variable(NamedTuple):
    name: str
    default: str  # as it would be written, or in words (in brackets) where it follows from others
    meaning: str


VARIABLES = (
    Variable(
        "LAARI_DATABASE_URL",
        "(embedded)",
        "postgresql://… of a server of your own; unset: a PostgreSQL in the data directory",
    ),
    Variable("LAARI_DATA_DIR", "./laari-data", "embedded database and generated master key"),
    Variable(
        "LAARI_WAL_ARCHIVE",
        "(as it was; off at first)",
        "directory for the embedded database's archived log, to restore any moment; off ends it",
    ),
    Variable("LAARI_PUBLIC_URL", "(http://HOST:PORT)", "origin of every URL that is handed out"),
    Variable(
        "LAARI_MASTER_KEY",
        "(generated)",
        "encrypts secrets at rest: 64 hex characters or base64 of 32 bytes; "
        "required with LAARI_DATABASE_URL",
    ),
    Variable(
        "LAARI_REQUIRE_HTTPS",
        "(on where the public URL is https)",
        "on or off: answers plain HTTP with 403",
    ),
    Variable(
        "LAARI_TRUSTED_PROXIES",
        "(none)",
        "addresses and networks whose X-Forwarded-Proto and X-Forwarded-For count",
    ),
    Variable("LAARI_SANDBOX_VPA", "sandbox", "the designated sandbox recipient's VPA"),
    Variable(
        "LAARI_SANDBOX_EMAIL", "sandbox@laari.test", "the designated sandbox recipient's email"
    ),
    Variable(
        "LAARI_SANDBOX_SIGNUP",
        "off",
        "lets anybody make a merchant for the sandbox alone; on with --demo",
    ),
    Variable(
        "LAARI_SANDBOX_SIGNUPS_PER_MINUTE",
        "60",
        "merchants that sign up, per address, before 429; 0 is off",
    ),
    Variable(
        "LAARI_SANDBOX_MERCHANTS", "10000", "merchants of the installation at which sign-up ends"
    ),
    Variable(
        "LAARI_SUPPORT_CONTACT",
        "(your wallet provider)",
        "phone, email or both, which pages tell customers to contact about a blocked wallet",
    ),
    Variable("LAARI_VPA_SUFFIXES", "fp,fahipay", "accepted VPA suffixes"),
    Variable(
        "LAARI_WEBHOOK_ALLOW_PRIVATE",
        "off",
        "allows http and private addresses as webhook URLs: development only",
    ),
    Variable(
        "LAARI_WEBHOOK_RETRY_SECONDS", "60,300", "waits between attempts to deliver a webhook"
    ),
    Variable("LAARI_MERCHANT_RATE_LIVE", "100", "requests per second and merchant, 0 is off"),
    Variable("LAARI_MERCHANT_RATE_SANDBOX", "25", "the same in sandbox mode"),
    Variable(
        "LAARI_RECIPIENT_MISSES_PER_MINUTE",
        "30",
        "payment requests to unknown customers, per merchant, before 429; 0 is off",
    ),
    Variable(
        "LAARI_TOKEN_FAILURES_PER_MINUTE",
        "10",
        "failed token requests, per client and address, before 429; 0 is off",
    ),
    Variable(
        "LAARI_TOKENS_PER_MINUTE",
        "600",
        "access tokens issued, per client, before 429; 0 is off",
    ),
    Variable(
        "LAARI_METRICS_ADDRESS",
        "(127.0.0.1:9464, or a free port)",
        "host:port where /metrics is served, and nothing else",
    ),
    Variable(
        "LAARI_METRICS_TOKEN",
        "(none)",
        "bearer token that /metrics wants; without an address it is then on the main one",
    ),
    Variable(
        "LAARI_RETENTION_DELIVERIES_DAYS",
        "90",
        "age at which ended webhook deliveries are purged, 7 at least; 0 keeps them",
    ),
    Variable(
        "LAARI_RETENTION_SANDBOX_DAYS",
        "0",
        "age at which events, failed lines and what was never paid go in a sandbox; 0 keeps them",
    ),
    Variable("LAARI_MAX_BATCH", "256", "commands in one transaction, for measurements"),
)
_DEFAULTS = {
    variable.name: variable.default
    for variable in VARIABLES
    if not variable.default.startswith("(")
}
# Variables of the commands that call a service, which a developer may have set for all programs.
_OTHER_USES = ("LAARI_URL", "LAARI_SECRET_KEY")


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str | None = field(repr=False)  # may hold a password
    data_dir: Path
    wal_archive: str | None
    public_url: str
    master_key: bytes | None = field(repr=False)
    require_https: bool
    trusted_proxies: tuple[Network, ...]
    sandbox_vpa: str
    sandbox_email: str
    sandbox_signup: bool
    sandbox_signups_per_minute: float
    sandbox_merchants: int
    support_contact: str | None
    vpa_suffixes: tuple[str, ...]
    webhook_allow_private: bool
    webhook_retry_seconds: tuple[float, ...]
    merchant_rate_live: float
    merchant_rate_sandbox: float
    recipient_misses_per_minute: float
    token_failures_per_minute: float
    metrics_address: tuple[str, int] | None
    metrics_token: str | None = field(repr=False)
    tokens_per_minute: float
    retention_deliveries_days: int
    retention_sandbox_days: int
    max_batch: int


def read_settings(
    environ: Mapping[str, str], host: str = "127.0.0.1", port: int = 8000
) -> Settings:
    """Reads and checks every variable; a blank one counts as unset."""
    read = _Reader(environ)
    public_url = read.origin("LAARI_PUBLIC_URL") or default_origin(host, port)
    settings = Settings(
        database_url=read.database_url("LAARI_DATABASE_URL"),
        data_dir=Path(read.text("LAARI_DATA_DIR")),
        wal_archive=read.text("LAARI_WAL_ARCHIVE") or None,
        public_url=public_url,
        master_key=read.key("LAARI_MASTER_KEY"),
        require_https=read.switch("LAARI_REQUIRE_HTTPS", public_url.startswith("https:")),
        trusted_proxies=read.networks("LAARI_TRUSTED_PROXIES"),
        sandbox_vpa=read.word("LAARI_SANDBOX_VPA"),
        sandbox_email=read.email("LAARI_SANDBOX_EMAIL"),
        sandbox_signup=read.switch("LAARI_SANDBOX_SIGNUP", False),
        sandbox_signups_per_minute=read.number("LAARI_SANDBOX_SIGNUPS_PER_MINUTE"),
        sandbox_merchants=read.whole("LAARI_SANDBOX_MERCHANTS", 0, 1_000_000),
        support_contact=read.line("LAARI_SUPPORT_CONTACT"),
        vpa_suffixes=read.words("LAARI_VPA_SUFFIXES"),
        webhook_allow_private=read.switch("LAARI_WEBHOOK_ALLOW_PRIVATE", False),
        webhook_retry_seconds=read.numbers("LAARI_WEBHOOK_RETRY_SECONDS"),
        merchant_rate_live=read.number("LAARI_MERCHANT_RATE_LIVE"),
        merchant_rate_sandbox=read.number("LAARI_MERCHANT_RATE_SANDBOX"),
        recipient_misses_per_minute=read.number("LAARI_RECIPIENT_MISSES_PER_MINUTE"),
        token_failures_per_minute=read.number("LAARI_TOKEN_FAILURES_PER_MINUTE"),
        metrics_address=read.address("LAARI_METRICS_ADDRESS"),
        metrics_token=read.token("LAARI_METRICS_TOKEN"),
        tokens_per_minute=read.number("LAARI_TOKENS_PER_MINUTE"),
        retention_deliveries_days=read.days("LAARI_RETENTION_DELIVERIES_DAYS", least=7),
        retention_sandbox_days=read.days("LAARI_RETENTION_SANDBOX_DAYS"),
        max_batch=read.whole("LAARI_MAX_BATCH", 1, 4096),
    )
    if settings.database_url is not None and settings.master_key is None:
        raise SettingsError("LAARI_MASTER_KEY is required with LAARI_DATABASE_URL")
    if settings.database_url is not None and settings.wal_archive is not None:
        raise SettingsError(
            "LAARI_WAL_ARCHIVE is for the embedded database: your own server archives by its own"
        )
    return settings


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Names that look like settings and are not: misspelt, or of another version."""
    known = {*(variable.name for variable in VARIABLES), *_OTHER_USES}
    return sorted(name for name in environ if name.startswith("LAARI_") and name not in known)


def default_origin(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def _plain(network: Network) -> Network:
    """IPv4 written inside IPv6 (`::ffff:10.0.0.0/104`) is IPv4, as the clients' addresses are."""
    inside = network.network_address.ipv4_mapped if network.version == 6 else None
    if inside is None or network.prefixlen < _MAPPED_BITS:
        return network
    return ip_network((inside, network.prefixlen - _MAPPED_BITS))


class _Reader:
    """One method per kind of value; each says which variable is wrong and what it may be."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str:
        return self._environ.get(name, "").strip() or _DEFAULTS.get(name, "")

    def _items(self, name: str) -> list[str]:
        text = self.text(name)
        return [item.strip() for item in text.split(",")] if text else []

    def database_url(self, name: str) -> str | None:
        value = self.text(name)
        if value and not value.startswith(("postgresql://", "postgres://")):
            raise SettingsError(f"{name} must begin with postgresql://")
        return value or None

    def origin(self, name: str) -> str | None:
        value = self.text(name)
        if not value:
            return None
        wrong = SettingsError(f"{name} must be an origin such as https://pay.example.com")
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
            raise wrong
        if parts.path not in {"", "/"} or parts.query or parts.fragment or re.search(r"\s", value):
            raise wrong
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")

    def key(self, name: str) -> bytes | None:
        """The value never shows in the message."""
        value = self.text(name)
        if not value:
            return None
        if re.fullmatch(r"[0-9A-Fa-f]{64}", value):
            return bytes.fromhex(value)
        try:
            key = base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != MASTER_KEY_BYTES:
            raise SettingsError(f"{name} must be 64 hex characters or base64 of 32 bytes")
        return key

    def address(self, name: str) -> tuple[str, int] | None:
        value = self.text(name)
        if not value:
            return None
        host, _, port = value.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            host = ""  # an IPv6 address without its brackets: nobody can tell where it ends
        if not re.fullmatch(r"[^\s\[\]/@]+", host) or not re.fullmatch(r"[0-9]{1,5}", port):
            raise SettingsError(f"{name}: {value!r} is not an address such as 127.0.0.1:9464")
        if int(port) > 65_535:
            raise SettingsError(f"{name}: there is no port {port}")
        return host, int(port)

    def token(self, name: str) -> str | None:
        """The value never shows in the message."""
        value = self.text(name)
        if value and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", value):
            raise SettingsError(
                f"{name} must be at least {MIN_TOKEN} ASCII characters without spaces"
            )
        return value or None

    def line(self, name: str) -> str | None:
        """Words for people, as a page shows them."""
        value = self.text(name)
        if len(value) > MAX_LINE or not value.isprintable():
            raise SettingsError(f"{name} must be at most {MAX_LINE} printable characters")
        return value or None

    def switch(self, name: str, default: bool) -> bool:
        value = self.text(name).lower()
        if value in {"on", "true", "yes", "1"}:
            return True
        if value in {"off", "false", "no", "0"}:
            return False
        if value:
            raise SettingsError(f"{name} must be on or off, not {value!r}")
        return default

    def networks(self, name: str) -> tuple[Network, ...]:
        found = []
        for item in self._items(name):
            try:
                found.append(_plain(ip_network(item, strict=False)))
            except ValueError:
                raise SettingsError(
                    f"{name}: {item!r} is not an address or network such as 10.0.0.0/8"
                ) from None
        return tuple(found)

    def word(self, name: str) -> str:
        return self._word(name, self.text(name))

    def words(self, name: str) -> tuple[str, ...]:
        return tuple(self._word(name, item) for item in self._items(name))

    def _word(self, name: str, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value):
            raise SettingsError(f"{name}: {value!r} may only hold letters, digits, '.', '_', '-'")
        return value.lower()

    def email(self, name: str) -> str:
        value = self.text(name)
        if not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
            raise SettingsError(f"{name}: {value!r} is not an email address")
        return value.lower()

    def number(self, name: str) -> float:
        return self._number(name, self.text(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        return tuple(self._number(name, item) for item in self._items(name))

    def _number(self, name: str, value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise SettingsError(f"{name}: {value!r} is not a number from 0 up")
        return number

    def whole(self, name: str, least: int, most: int) -> int:
        value = self.text(name)
        if not re.fullmatch(r"[0-9]{1,9}", value) or not least <= int(value) <= most:
            raise SettingsError(f"{name} must be a whole number from {least} to {most}")
        return int(value)

    def days(self, name: str, least: int = 1) -> int:
        value = self.text(name)
        days = int(value) if re.fullmatch(r"[0-9]{1,9}", value) else -1
        if days != 0 and not least <= days <= MAX_DAYS:
            raise SettingsError(
                f"{name}: {value!r} is not a whole number of days from {least} to {MAX_DAYS}; "
                "0 keeps all"
            )
        return days
