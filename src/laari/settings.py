"""Settings: the environment, read once into one frozen object.

A field's variable is `LAARI_` and its name in capitals; `laari serve --help` shows them all.
"""

import base64
import binascii
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from laari.errors import LaariError
from laari.rules.limits.contact_changes import CONTACT_DELAY_HOURS
from laari.rules.limits.keys_and_rates import (
    MERCHANT_RATE_LIVE,
    MERCHANT_RATE_SANDBOX,
    RECIPIENT_MISSES_PER_MINUTE,
    SANDBOX_SIGNUPS_PER_MINUTE,
    TOKEN_FAILURES_PER_MINUTE,
    TOKENS_PER_MINUTE,
)
from laari.rules.limits.messages import SMS_PER_HOUR

Network: TypeAlias = IPv4Network | IPv6Network
T = TypeVar("T")
Reader: TypeAlias = Callable[[str, str], T]  # takes a variable's name and its text

MASTER_KEY_BYTES = 32
_MAPPED_BITS = 96  # before the IPv4 address in an IPv6 address
MAX_DAYS = 36_500  # a century
MAX_LINE = 200
MIN_TOKEN = 16  # characters: nobody can guess it over the network
# Variables of `laari listen` and `laari trigger`.
_OTHER_USES = ("LAARI_URL", "LAARI_SECRET_KEY")
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")


class SettingsError(LaariError):
    """A variable has an invalid value."""


# Readers: one for each kind of value. An error names the variable and the values it accepts.


def _text(_name: str, text: str) -> str | None:
    return text or None


def _path(_name: str, text: str) -> Path:
    return Path(text)


def _database_url(name: str, text: str) -> str | None:
    if text and not text.startswith(("postgresql://", "postgres://")):
        raise SettingsError(f"{name} must begin with postgresql://")
    return text or None


def read_url(text: str) -> tuple[str, str] | None:
    """Returns the origin and the path of an http URL; None if it has more parts or is invalid."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        return None
    if parts.query or parts.fragment or re.search(r"\s", text):
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")
    return origin, parts.path.rstrip("/")


def _origin(name: str, text: str) -> str:
    origin, path = (read_url(text) or ("", "")) if text else ("", "")
    if path or (text and not origin):
        raise SettingsError(f"{name} must be an origin such as https://pay.example.com")
    return origin


def _key(name: str, text: str) -> bytes | None:
    """Its error does not show the value."""
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
    try:
        parts = urlsplit(f"//{text}")
        is_whole = parts.netloc == text and not re.search(r"[\s@]", text)
        host, port = (parts.hostname, parts.port) if is_whole else (None, None)
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise SettingsError(f"{name}: {text!r} is not an address such as 127.0.0.1:9464")
    return host, port


def _token(name: str, text: str) -> str | None:
    """Its error does not show the value."""
    if text and not re.fullmatch(rf"[!-~]{{{MIN_TOKEN},}}", text):
        raise SettingsError(f"{name} must be at least {MIN_TOKEN} ASCII characters without spaces")
    return text or None


class SmtpServer(NamedTuple):
    host: str
    port: int
    tls: bool  # from the first byte on
    user: str | None
    password: str | None


def _smtp_url(name: str, text: str) -> SmtpServer | None:
    """Its error does not show the value."""
    if not text:
        return None
    wrong = SettingsError(f"{name} must be like smtps://user:password@mail.example.com:465")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise wrong from None
    user, password = (part and unquote(part) for part in (parts.username, parts.password))
    tls = parts.scheme == "smtps"
    has_more = parts.path.strip("/") or parts.query or parts.fragment
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname or has_more:
        raise wrong
    if bool(user) != bool(password):
        raise wrong
    default = 465 if tls else 587 if user else 25
    return SmtpServer(parts.hostname, port or default, tls, user or None, password or None)


def _mail_from(name: str, text: str) -> str | None:
    address = parseaddr(text)[1]
    is_address = re.fullmatch(r"[!-?A-~]+@[!-?A-~]+", address) and text.isprintable()
    if text and not is_address:
        raise SettingsError(f"{name}: {text!r} is not like Laari <pay@example.com>")
    return text or None


def _command(name: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise SettingsError(f"{name} cannot be split into words: {error}") from None


def _line(name: str, text: str) -> str | None:
    if len(text) > MAX_LINE or not text.isprintable():
        raise SettingsError(f"{name} must be at most {MAX_LINE} printable characters")
    return text or None


def _switch(name: str, text: str) -> bool:
    word = text.lower()
    if word and word not in {*_ON, *_OFF}:
        raise SettingsError(f"{name} must be on or off, not {word!r}")
    return word in _ON


def _network(name: str, text: str) -> Network:
    """Reads IPv4 inside IPv6 (`::ffff:10.0.0.0/104`) as IPv4, like clients' addresses."""
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


def _matching(pattern: str, kind: str) -> Reader[str]:
    def read(name: str, text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise SettingsError(f"{name}: {text!r} is not {kind}")
        return text.lower()

    return read


_word = _matching(r"[A-Za-z0-9][A-Za-z0-9._-]*", "a word of letters, digits, '.', '_' and '-'")
_email = _matching(r"[^@\s]+@[^@\s]+", "an email address")


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise SettingsError(f"{name}: {text!r} is not a number of at least 0")
    return number


def _whole(least: int, most: int, *, or_zero: bool = False) -> Reader[int]:
    def read(name: str, text: str) -> int:
        number = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1
        if not least <= number <= most and not (or_zero and number == 0):
            zero = ", or 0" if or_zero else ""
            raise SettingsError(f"{name} must be a whole number from {least} to {most}{zero}")
        return number

    return read


def _whole_or_none(least: int) -> Reader[int | None]:
    read_number = _whole(least, 999_999_999)
    return lambda name, text: read_number(name, text) if text not in ("", "off") else None


def _list_of(read_item: Reader[T]) -> Reader[tuple[T, ...]]:
    def read(name: str, text: str) -> tuple[T, ...]:
        return tuple(read_item(name, item.strip()) for item in text.split(",")) if text else ()

    return read


class Variable(NamedTuple):
    field: str
    read: Reader[Any]
    default: str  # the text, or words in brackets if it follows from other settings
    meaning: str

    @property
    def name(self) -> str:
        return f"LAARI_{self.field.upper()}"

    def text(self, environ: Mapping[str, str]) -> str:
        """Returns the default for a blank variable."""
        default = "" if self.default.startswith("(") else self.default
        return environ.get(self.name, "").strip() or default


def _setting(read: Reader[T], default: str, meaning: str, *, secret: bool = False) -> T:
    """Declares a field. The type of the result lets mypy compare field and reader."""
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
        "postgresql://… URL of your own server; if unset, Laari starts its own PostgreSQL in the "
        "data directory",
        secret=True,  # may contain a password
    )
    data_dir: Path = _setting(  # noqa: RUF009  # declares a field
        _path, "./laari-data", "directory of the embedded database and the generated master key"
    )
    wal_archive: str | None = _setting(
        _text,
        "(unchanged; off at first)",
        "directory for the archived log of the embedded database, to restore any point in time; "
        "off stops it",
    )
    public_url: str = _setting(
        _origin,
        "(http://HOST:PORT)",
        "origin of every URL in responses; if unset, commands use that of the last laari serve",
    )
    master_key: bytes | None = _setting(
        _key,
        "(generated)",
        "encrypts stored secrets: 64 hex characters or base64 of 32 bytes; required with "
        "LAARI_DATABASE_URL",
        secret=True,
    )
    require_https: bool = _setting(
        _switch, "(on if the public URL is https)", "if on, plain HTTP is answered with 403"
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        _list_of(_network),
        "(none)",
        "addresses and networks of proxies; Laari trusts their X-Forwarded-Proto and "
        "X-Forwarded-For",
    )
    support_contact: str | None = _setting(
        _line,
        "(your wallet provider)",
        "phone, email or both; pages of blocked wallets and all notices show it",
    )
    topup_bank: str | None = _setting(
        _line,
        "(none)",
        "bank of the account to which customers transfer money for their wallets; pages show how "
        "to top up if this and the next two are set",
    )
    topup_account: str | None = _setting(
        _line,
        "(none)",
        "number of that account; customers quote the account number of their wallet",
    )
    topup_holder: str | None = _setting(_line, "(none)", "holder of that account")
    sandbox_vpa: str = _setting(_word, "sandbox", "VPA of the sandbox recipient")
    sandbox_email: str = _setting(_email, "sandbox@laari.test", "email of the sandbox recipient")
    sandbox_signup: bool = _setting(
        _switch,
        "off",
        "if on, anybody can create a sandbox merchant; on with --demo",
    )
    sandbox_signups_per_minute: float = _setting(
        _number,
        str(SANDBOX_SIGNUPS_PER_MINUTE),
        "sign-ups per minute and address; 0 removes the limit",
    )
    sandbox_merchants: int = _setting(
        _whole(0, 1_000_000), "10000", "number of merchants at which sign-up stops"
    )
    customer_signup: bool = _setting(
        _switch,
        "off",
        "if on, anybody can open a wallet at the lowest tier; needs `LAARI_SMS_COMMAND`",
    )
    second_operator_above: int | None = _setting(
        _whole_or_none(0),
        "(off)",
        "live money in laari that one person of the operator can move alone on a day; more waits "
        "for a second person; `off` lets one person do everything",
    )
    contact_delay_hours: int = _setting(
        _whole(0, 720),
        str(CONTACT_DELAY_HOURS),
        "hours from the confirmation of a customer's new mobile number or email address to its use",
    )
    vpa_suffixes: tuple[str, ...] = _setting(_list_of(_word), "fp,fahipay", "accepted VPA suffixes")
    webhook_allow_private: bool = _setting(
        _switch,
        "off",
        "if on, webhook URLs may use http and private addresses; for development only; on with "
        "--demo if only this machine can reach the service",
    )
    webhook_retry_seconds: tuple[float, ...] = _setting(
        _list_of(_number), "60,300", "seconds between the attempts to deliver a webhook"
    )
    smtp_url: SmtpServer | None = _setting(  # noqa: RUF009  # declares a field
        _smtp_url,
        "(none: no emails)",
        "mail server: smtp://host:port or smtps://user:password@host; smtp uses STARTTLS if the "
        "server offers it, and always with a password",
        secret=True,
    )
    mail_from: str | None = _setting(
        _mail_from, "(none)", "sender of emails; required with LAARI_SMTP_URL"
    )
    sms_command: tuple[str, ...] = _setting(
        _command,
        "(none: no SMS)",
        "program that sends an SMS: the number is its last argument, the text is on its standard "
        "input, and status 0 means sent",
        secret=True,  # may contain a token
    )
    sms_per_hour: int = _setting(
        _whole(1, 1_000_000),
        str(SMS_PER_HOUR),
        "SMS in an hour; more wait, and an alert tells you. A fifth is reserved for codes and "
        "security notices",
    )
    merchant_rate_live: float = _setting(
        _number,
        str(MERCHANT_RATE_LIVE),
        "live requests per second and merchant; 0 removes the limit",
    )
    merchant_rate_sandbox: float = _setting(
        _number,
        str(MERCHANT_RATE_SANDBOX),
        "sandbox requests per second and merchant; 0 removes the limit",
    )
    recipient_misses_per_minute: float = _setting(
        _number,
        str(RECIPIENT_MISSES_PER_MINUTE),
        "payment requests to unknown customers per minute and merchant; 0 removes the limit",
    )
    token_failures_per_minute: float = _setting(
        _number,
        str(TOKEN_FAILURES_PER_MINUTE),
        "failed token requests per minute, client and address; 0 removes the limit",
    )
    tokens_per_minute: float = _setting(
        _number,
        str(TOKENS_PER_MINUTE),
        "access tokens per minute and client; 0 removes the limit",
    )
    metrics_address: tuple[str, int] | None = _setting(
        _address,
        "(127.0.0.1:9464, or a free port)",
        "host:port that serves only /metrics",
    )
    metrics_token: str | None = _setting(
        _token,
        "(none)",
        "bearer token of /metrics; with a token and no address, the main port serves /metrics",
        secret=True,
    )
    retention_deliveries_days: int = _setting(
        _whole(7, MAX_DAYS, or_zero=True),
        "90",
        "age in days at which ended webhook deliveries and messages are purged, at least 7; 0 "
        "keeps them",
    )
    retention_addresses_days: int = _setting(
        _whole(0, MAX_DAYS),
        "365",
        "age in days at which addresses in the journal and counts of failed log-ins are purged; 0 "
        "keeps them",
    )
    retention_sandbox_days: int = _setting(
        _whole(0, MAX_DAYS),
        "0",
        "age in days at which a sandbox's events, failed transactions and unpaid resources are "
        "purged; 0 keeps them",
    )
    payout_order_limit: int = _setting(
        _whole(1, 999_999_999),
        "20000000",
        "the bank's limit for one order in laari; a larger payout is split into several orders",
    )
    payout_approval_above: int = _setting(
        _whole(0, 999_999_999),
        "10000000",
        "total of a day's payout runs in laari above which another person has to approve a run",
    )
    withdrawal_minimum: int | None = _setting(
        _whole_or_none(1),
        "(off)",
        "smallest amount in laari that customers can withdraw to their bank account in the wallet "
        "application",
    )
    remembered_device_daily_limit: int = _setting(
        _whole(0, 999_999_999),
        "0",
        "largest sum in laari that a customer's remembered devices pay in a day without the "
        "password; 0 switches them off",
    )
    max_batch: int = _setting(
        _whole(1, 4096), "256", "maximum number of commands in one transaction; for measurements"
    )

    @property
    def channels(self) -> frozenset[str]:
        """The channels by which messages can be sent."""
        named = {"email": self.smtp_url, "sms": self.sms_command}
        return frozenset(channel for channel, transport in named.items() if transport)


VARIABLES = tuple(Variable(each.name, **each.metadata) for each in fields(Settings))


def read_settings(
    environ: Mapping[str, str], host: str = "127.0.0.1", port: int = 8000
) -> Settings:
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
    if settings.smtp_url is not None and settings.mail_from is None:
        raise SettingsError("LAARI_MAIL_FROM is required with LAARI_SMTP_URL")
    if settings.database_url is not None and settings.wal_archive is not None:
        raise SettingsError(
            "LAARI_WAL_ARCHIVE is only for the embedded database: configure the archive of your "
            "own server there"
        )
    return settings


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Returns variables that are misspelt or belong to another version."""
    known = {*(variable.name for variable in VARIABLES), *_OTHER_USES}
    return sorted(name for name in environ if name.startswith("LAARI_") and name not in known)


def default_origin(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
