"""Options of the commands that call a service with a merchant's key."""

import functools
import os
from collections.abc import Callable

import click

from laari.cli.shop.shared.ports import ShopError
from laari.cli.terminal.secret_input import secret_options
from laari.errors import LaariError
from laari.settings import read_url

DEFAULT_URL = "http://127.0.0.1:8000"
KEY_VARIABLE = "LAARI_SECRET_KEY"
URL_VARIABLE = "LAARI_URL"


def api_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds `--url`, `--key` and `--key-file`; the command gets `url` and `key`."""

    @functools.wraps(function)
    def command(key: str | None, **options: object) -> None:
        key = key or os.environ.get(KEY_VARIABLE, "").strip()
        if not key:
            raise click.BadOptionUsage(
                "key",
                f"Set the merchant's secret key with --key -, --key-file or {KEY_VARIABLE}",
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise click.BadOptionUsage("key", "The secret key contains characters of no key.")
        try:
            function(key=key, **options)
        except ShopError as error:
            raise LaariError(str(error)) from None

    keyed = secret_options("key", f"The merchant's secret key; default {KEY_VARIABLE}")
    return click.option(
        "--url",
        type=service_url,
        envvar=URL_VARIABLE,
        default=DEFAULT_URL,
        metavar="URL",
        help="URL of the service.",
    )(keyed(command))


def service_url(value: str) -> str:
    """Reads an origin, or the URL of the merchant interface."""
    parts = read_url(value)
    if parts is None:
        raise click.BadParameter("must be the service's URL, such as https://pay.example.com.")
    origin, path = parts
    return origin + path.removesuffix("/merchant")
