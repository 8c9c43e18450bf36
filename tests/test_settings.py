import base64
from ipaddress import ip_network
from pathlib import Path

import pytest

from laari.settings import (
    VARIABLES,
    Settings,
    SettingsError,
    SmtpServer,
    read_settings,
    unknown_variables,
)

KEY = bytes(range(32))


def test_defaults() -> None:
    assert read_settings({}, "127.0.0.1", 8000) == Settings(
        database_url=None,
        data_dir=Path("laari-data"),
        wal_archive=None,
        public_url="http://127.0.0.1:8000",
        master_key=None,
        require_https=False,
        trusted_proxies=(),
        sandbox_vpa="sandbox",
        sandbox_email="sandbox@laari.test",
        sandbox_signup=False,
        sandbox_signups_per_minute=60.0,
        sandbox_merchants=10_000,
        customer_signup=False,
        second_operator_above=None,
        contact_delay_hours=24,
        support_contact=None,
        topup_bank=None,
        topup_account=None,
        topup_holder=None,
        vpa_suffixes=("fp", "fahipay"),
        webhook_allow_private=False,
        webhook_retry_seconds=(60.0, 300.0),
        smtp_url=None,
        mail_from=None,
        sms_command=(),
        merchant_rate_live=100.0,
        merchant_rate_sandbox=25.0,
        recipient_misses_per_minute=30.0,
        token_failures_per_minute=10.0,
        metrics_address=None,
        metrics_token=None,
        tokens_per_minute=600.0,
        sms_per_hour=1000,
        retention_deliveries_days=90,
        retention_sandbox_days=0,
        retention_addresses_days=365,
        payout_order_limit=20_000_000,
        payout_approval_above=10_000_000,
        withdrawal_minimum=None,
        remembered_device_daily_limit=0,
        max_batch=256,
    )


def test_a_blank_variable_counts_as_unset() -> None:
    blank = {variable.name: " " for variable in VARIABLES}
    assert read_settings(blank) == read_settings({})


def test_an_ipv6_host_is_bracketed_in_the_public_url() -> None:
    assert read_settings({}, "::1", 80).public_url == "http://[::1]:80"


@pytest.mark.parametrize(
    ("given", "origin", "https"),
    [
        ("https://pay.example.com/", "https://pay.example.com", True),
        ("HTTP://Pay.Example.com:8080", "http://pay.example.com:8080", False),
        ("https://[::1]:8443", "https://[::1]:8443", True),
    ],
)
def test_the_public_url_is_an_origin(given: str, origin: str, https: bool) -> None:
    settings = read_settings({"LAARI_PUBLIC_URL": given})
    assert (settings.public_url, settings.require_https) == (origin, https)


def test_https_can_be_required_or_not_whatever_the_url() -> None:
    url = {"LAARI_PUBLIC_URL": "https://pay.example.com"}
    assert not read_settings({**url, "LAARI_REQUIRE_HTTPS": "off"}).require_https
    assert read_settings({"LAARI_REQUIRE_HTTPS": "ON"}).require_https


@pytest.mark.parametrize(
    "text", [KEY.hex(), base64.b64encode(KEY).decode(), base64.urlsafe_b64encode(KEY).decode()]
)
def test_the_master_key_in_both_forms(text: str) -> None:
    assert read_settings({"LAARI_MASTER_KEY": text}).master_key == KEY


def test_lists() -> None:
    settings = read_settings(
        {
            "LAARI_TRUSTED_PROXIES": "10.0.0.1, 192.168.0.7/16 ,fd00::/8",
            "LAARI_VPA_SUFFIXES": " FP , bank.mv",
            "LAARI_WEBHOOK_RETRY_SECONDS": "0.5,1",
        }
    )
    assert settings.trusted_proxies == (
        ip_network("10.0.0.1/32"),
        ip_network("192.168.0.0/16"),
        ip_network("fd00::/8"),
    )
    assert settings.vpa_suffixes == ("fp", "bank.mv")
    assert settings.webhook_retry_seconds == (0.5, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LAARI_DATABASE_URL", "mysql://db/laari"),
        ("LAARI_PUBLIC_URL", "pay.example.com"),
        ("LAARI_PUBLIC_URL", "https://pay.example.com/shop"),
        ("LAARI_PUBLIC_URL", "https://user:pass@pay.example.com"),
        ("LAARI_PUBLIC_URL", "https://pay.example.com:port"),
        ("LAARI_MASTER_KEY", "short"),
        ("LAARI_MASTER_KEY", KEY.hex()[:-2]),
        ("LAARI_REQUIRE_HTTPS", "maybe"),
        ("LAARI_TRUSTED_PROXIES", "10.0.0.1,proxy"),
        ("LAARI_SANDBOX_VPA", "sandbox@fp"),
        ("LAARI_SANDBOX_EMAIL", "sandbox"),
        ("LAARI_SUPPORT_CONTACT", "call\nus"),
        ("LAARI_SUPPORT_CONTACT", "1" * 201),
        ("LAARI_SANDBOX_SIGNUP", "perhaps"),
        ("LAARI_SANDBOX_SIGNUPS_PER_MINUTE", "-1"),
        ("LAARI_SANDBOX_MERCHANTS", "all"),
        ("LAARI_VPA_SUFFIXES", "@fp"),
        ("LAARI_VPA_SUFFIXES", ","),
        ("LAARI_WEBHOOK_ALLOW_PRIVATE", "2"),
        ("LAARI_WEBHOOK_RETRY_SECONDS", "60,soon"),
        ("LAARI_WEBHOOK_RETRY_SECONDS", "-1"),
        ("LAARI_SMTP_URL", "mail.example.com"),
        ("LAARI_SMTP_URL", "http://mail.example.com"),
        ("LAARI_SMTP_URL", "smtp://:25"),
        ("LAARI_SMTP_URL", "smtp://mail.example.com:port"),
        ("LAARI_SMTP_URL", "smtp://mail.example.com/folder"),
        ("LAARI_SMTP_URL", "smtp://user@mail.example.com"),
        ("LAARI_MAIL_FROM", "Laari"),
        ("LAARI_MAIL_FROM", "Laari <pay@example.com>\nBcc: x@example.com"),
        ("LAARI_SMS_COMMAND", "send 'it"),
        ("LAARI_MERCHANT_RATE_LIVE", "nan"),
        ("LAARI_MERCHANT_RATE_SANDBOX", "inf"),
        ("LAARI_RETENTION_DELIVERIES_DAYS", "-1"),
        ("LAARI_RETENTION_DELIVERIES_DAYS", "6"),
        ("LAARI_RETENTION_SANDBOX_DAYS", "forever"),
        ("LAARI_RETENTION_SANDBOX_DAYS", "0.5"),
        ("LAARI_RETENTION_SANDBOX_DAYS", "36501"),
        ("LAARI_RETENTION_SANDBOX_DAYS", "99999999999999999999"),
        ("LAARI_MAX_BATCH", "0"),
        ("LAARI_MAX_BATCH", "1.5"),
    ],
)
def test_a_bad_value_is_one_line_that_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({name: value})
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


FROM = {"LAARI_MAIL_FROM": "Laari <pay@example.com>"}


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail", SmtpServer("mail", 25, False, None, None)),
        ("smtp://a:b@mail", SmtpServer("mail", 587, False, "a", "b")),
        ("smtps://a:p%40ss%2Fword@mail/", SmtpServer("mail", 465, True, "a", "p@ss/word")),
        ("smtps://[::1]:2525", SmtpServer("::1", 2525, True, None, None)),
    ],
)
def test_the_mail_server(url: str, server: SmtpServer) -> None:
    settings = read_settings({"LAARI_SMTP_URL": url, **FROM})
    assert settings.smtp_url == server
    assert settings.channels == {"email"}
    assert "p@ss" not in repr(settings)


def test_the_mail_servers_password_is_in_no_error() -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({"LAARI_SMTP_URL": "smtp://a:hush@mail/x", **FROM})
    assert "hush" not in str(refused.value)


def test_mail_needs_a_sender() -> None:
    with pytest.raises(SettingsError, match="LAARI_MAIL_FROM is required"):
        read_settings({"LAARI_SMTP_URL": "smtp://mail"})


def test_the_sms_command_is_split_into_words() -> None:
    settings = read_settings({"LAARI_SMS_COMMAND": "send --from 'The Shop'"})
    assert settings.sms_command == ("send", "--from", "The Shop")
    assert settings.channels == {"sms"}


def test_a_server_of_ones_own_needs_a_master_key() -> None:
    url = {"LAARI_DATABASE_URL": "postgresql://laari:hush@db/laari"}
    with pytest.raises(SettingsError, match="LAARI_MASTER_KEY is required"):
        read_settings(url)
    settings = read_settings({**url, "LAARI_MASTER_KEY": KEY.hex()})
    assert settings.database_url == url["LAARI_DATABASE_URL"]
    assert "hush" not in repr(settings)
    assert repr(KEY) not in repr(settings)


def test_unknown_variables_are_named() -> None:
    environ = {"LAARI_DATABASE_READ_URL": "", "LAARI_MAX_BATCH": "9", "LAARI_URL": "x", "PATH": "/"}
    assert unknown_variables(environ) == ["LAARI_DATABASE_READ_URL"]
