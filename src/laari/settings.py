"""Settings: the environment read once into one frozen object.

A field of `Settings` is the one declaration of a setting: its type, reader, default and help. Its
variable is the field's name in capitals after `LAARI_`. `laari serve --help` and docs/settings.md
are made from the same fields.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit

from laari.errors import LaariError

Network: TypeAlias = IPv4Network | IPv6Network
T = TypeVar("T")
Reader: TypeAlias = Callable[[str, str], T]  # of a variable's name and its text

MASTER_KEY_BYTES = 32
_MAPPED_BITS = 96  # before the IPv4 address in an IPv6 address
MAX_DAYS = 36_500  # a century
MAX_LINE = 200
MIN_TOKEN = 16  # characters: more than anybody guesses over the network
# Variables of the commands that call a service, which a developer may have set for all programs.
_OTHER_USES = ("LAARI_URL", "LAARI_SECRET_KEY")
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")


class SettingsError(LaariError):
    """A variable whose value cannot be used."""


# Readers: one per kind of value. Each says which variable is wrong and what it may be.


def _text(_name: str, text: str) -> str | None:
    return text or None


def _path(_name: str, text: str) -> Path:
    return Path(text)


def _database_url(name: str, text: str) -> str | None:
    if text and not text.startswith(("postgresql://", "postgres://")):
        raise SettingsError(f"{name} must begin with postgresql://")
    return text or None


def _origin(name: str, text: str) -> str:
    if not text:
        return ""
    wrong = SettingsError(f"{name} must be an origin such as https://pay.example.com")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise wrong
    if parts.path not in {"", "/"} or parts.query or parts.fragment or re.search(r"\s", text):
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")


def _key(name: str, text: str) -> bytes | None:
    """The value never shows in the message."""
    if not text:
        return None
    if re.fullmatch(r"[0-9A-Fa-f]{64}", text):
        return bytes.fromhex(text)
    try:
        key = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != MASTER_KEY_BYTES:
        raise SettingsError(f"{name} must be 64 hex characters or base64 of 32 bytes")
    return key


def _address(name: str, text: str) -> tuple[str, int] | None:
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""  # an IPv6 address without its brackets: nobody can tell where it ends
    if not re.fullmatch(r"[^\s\[\]/@]+", host) or not re.fullmatch(r"[0-9]{1,5}", port):
        raise SettingsError(f"{name}: {text!r} is not an address such as 127.0.0.1:9464")
    if int(port) > 65_535:
        raise SettingsError(f"{name}: there is no port {port}")
    return host, int(port)


def _token(name: str, text: str) -> str | None:
    """The value never shows in the message."""
    if text and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", text):
        raise SettingsError(f"{name} must be at least {MIN_TOKEN} ASCII characters without spaces")
    return text or None


def _line(name: str, text: str) -> str | None:
    """Words for people, as a page shows them."""
    if len(text) > MAX_LINE or not text.isprintable():
        raise SettingsError(f"{name} must be at most {MAX_LINE} printable characters")
    return text or None


def _switch(name: str, text: str) -> bool:
    word = text.lower()
    if word and word not in {*_ON, *_OFF}:
        raise SettingsError(f"{name} must be on or off, not {word!r}")
    return word in _ON


def _network(name: str, text: str) -> Network:
    """IPv4 written inside IPv6 (`::ffff:10.0.0.0/104`) is IPv4, as the clients' addresses are."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise SettingsError(
            f"{name}: {text!r} is not an address or network such as 10.0.0.0/8"
        ) from None
    inside = network.network_address.ipv4_mapped if network.version == 6 else None
    if inside is None or network.prefixlen < _MAPPED_BITS:
        return network
    return ip_network((inside, network.prefixlen - _MAPPED_BITS))


def _word(name: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text):
        raise SettingsError(f"{name}: {text!r} may only hold letters, digits, '.', '_', '-'")
    return text.lower()


def _email(name: str, text: str) -> str:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise SettingsError(f"{name}: {text!r} is not an email address")
    return text.lower()


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise SettingsError(f"{name}: {text!r} is not a number from 0 up")
    return number


def _whole(least: int, most: int) -> Reader[int]:
    def read(name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise SettingsError(f"{name} must be a whole number from {least} to {most}")
        return int(text)

    return read


def _days(least: int = 1) -> Reader[int]:
    def read(name: str, text: str) -> int:
        days = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1
        if days != 0 and not least <= days <= MAX_DAYS:
            raise SettingsError(
                f"{name}: {text!r} is not a whole number of days from {least} to {MAX_DAYS}; "
                "0 keeps all"
            )
        return days

    return read


def _list_of(read_item: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(name: str, text: str) -> tuple[T, ...]:
        return tuple(read_item(name, item.strip()) for item in text.split(",")) if text else ()

    return read


class Variable(NamedTuple):
    field: str
    read: Reader[Any]
    default: str  # as it would be written, or in words (in brackets) if it follows from others
    meaning: str

    @property
    def name(self) -> str:
        return f"LAARI_{self.field.upper()}"

    def text(self, environ: Mapping[str, str]) -> str:
        """A blank variable counts as unset."""
        default = "" if self.default.startswith("(") else self.default
        return environ.get(self.name, "").strip() or default


def _setting(read: Reader[T], default: str, meaning: str, *, secret: bool = False) -> T:
    """Declares a field. It returns what the reader returns, so that mypy compares the types."""
    declared: Any = field(
        repr=not secret, metadata={"read": read, "default": default, "meaning": meaning}
    )
    value: T = declared
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    database_url: str | None = _setting(
        _database_url,
        "(embedded)",
        "postgresql://… of your own server; unset: a PostgreSQL started from the installed "
        "package, with its data in the data directory",
        secret=True,  # may hold a password
    )
    data_dir: Path = _setting(  # noqa: RUF009  # declares a field
        _path, "./laari-data", "embedded database and generated master key"
    )
    wal_archive: str | None = _setting(
        _text,
        "(as it was; off at first)",
        "directory for the embedded database's archived log, to restore any moment; off ends it",
    )
    public_url: str = _setting(
        _origin,
        "(http://HOST:PORT)",
        "origin of every URL that is handed out; commands without it use that of the last "
        "laari serve",
    )
    master_key: bytes | None = _setting(
        _key,
        "(generated)",
        "encrypts secrets at rest: 64 hex characters or base64 of 32 bytes; required with "
        "LAARI_DATABASE_URL",
        secret=True,
    )
    require_https: bool = _setting(
        _switch, "(on if the public URL is https)", "on or off: answers plain HTTP with 403"
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        _list_of(_network),
        "(none)",
        "addresses and networks whose X-Forwarded-Proto and X-Forwarded-For count",
    )
    support_contact: str | None = _setting(
        _line,
        "(your wallet provider)",
        "phone, email or both, which pages tell customers to contact about a blocked wallet",
    )
    sandbox_vpa: str = _setting(_word, "sandbox", "the designated sandbox recipient's VPA")
    sandbox_email: str = _setting(
        _email, "sandbox@laari.test", "the designated sandbox recipient's email"
    )
    sandbox_signup: bool = _setting(
        _switch,
        "off",
        "lets anybody make a merchant for the sandbox alone; on with --demo; refused if the "
        "installation has live merchants",
    )
    sandbox_signups_per_minute: float = _setting(
        _number, "60", "merchants that sign up, per address, before 429; 0 is off"
    )
    sandbox_merchants: int = _setting(
        _whole(0, 1_000_000), "10000", "merchants of the installation at which sign-up ends"
    )
    vpa_suffixes: tuple[str, ...] = _setting(_list_of(_word), "fp,fahipay", "accepted VPA suffixes")
    webhook_allow_private: bool = _setting(
        _switch,
        "off",
        "allows http and private addresses as webhook URLs: development only; on with --demo if "
        "nobody but this machine reaches it",
    )
    webhook_retry_seconds: tuple[float, ...] = _setting(
        _list_of(_number), "60,300", "waits between attempts to deliver a webhook"
    )
    merchant_rate_live: float = _setting(
        _number, "100", "requests per second and merchant, 0 is off"
    )
    merchant_rate_sandbox: float = _setting(_number, "25", "the same in sandbox mode")
    recipient_misses_per_minute: float = _setting(
        _number,
        "30",
        "payment requests to unknown customers, per merchant, before 429; 0 is off",
    )
    token_failures_per_minute: float = _setting(
        _number, "10", "failed token requests, per client and address, before 429; 0 is off"
    )
    tokens_per_minute: float = _setting(
        _number, "600", "access tokens issued, per client, before 429; 0 is off"
    )
    metrics_address: tuple[str, int] | None = _setting(
        _address,
        "(127.0.0.1:9464, or a free port)",
        "host:port where /metrics is served, and nothing else",
    )
    metrics_token: str | None = _setting(
        _token,
        "(none)",
        "bearer token that /metrics wants; without an address it is then on the main one",
        secret=True,
    )
    retention_deliveries_days: int = _setting(
        _days(least=7),
        "90",
        "age at which ended webhook deliveries are purged, 7 at least; 0 keeps them",
    )
    retention_sandbox_days: int = _setting(
        _days(),
        "0",
        "age at which events, failed lines and resources that were never paid are purged in a "
        "sandbox; 0 keeps them",
    )
    max_batch: int = _setting(
        _whole(1, 4096), "256", "commands in one transaction, for measurements"
    )


VARIABLES = tuple(Variable(each.name, **each.metadata) for each in fields(Settings))


def read_settings(
    environ: Mapping[str, str], host: str = "127.0.0.1", port: int = 8000
) -> Settings:
    """Reads and checks every variable."""
    texts = {each.field: each.text(environ) for each in VARIABLES}
    values = {each.field: each.read(each.name, texts[each.field]) for each in VARIABLES}
    # The two defaults that follow from other values.
    if not texts["public_url"]:
        values["public_url"] = default_origin(host, port)
    if not texts["require_https"]:
        values["require_https"] = values["public_url"].startswith("https:")
    settings = Settings(**values)
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
