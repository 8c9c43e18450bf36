"""The commands: options and variables as `laari listen` and `laari trigger` have them."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Optional, Sequence
from urllib.parse import urlsplit

import click
import httpx

from laari_client import Laari, LaariError, __version__, errors
from laari_client.cli._service import KEY_VARIABLE, ClientService, open_receiver
from laari_client.cli._shared.listen import listen
from laari_client.cli._shared.ports import ShopError
from laari_client.cli._shared.trigger import SCENARIOS, trigger
from laari_client.cli._terminal import PROGRAM, Terminal, complain

DEFAULT_URL = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 20.0
MAX_ATTEMPTS = 3
# The client's errors name its parameters.
OPTION_NAMES = {"base_url": "--url", "secret_key": "--key", "allow_http=True": "--allow-http"}
INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended

Command = Callable[..., None]


@click.group()
@click.version_option(__version__, message="%(prog)s %(version)s")
def program() -> None:
    """Receive and cause a merchant's events while you write an integration with Laari."""


def secret_options(name: str, help: str) -> Callable[[Command], Command]:
    """Adds `--NAME` and `--NAME-file`, of which one may be given; the command gets `NAME`."""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            written, file = given.pop(name), given.pop(f"{name}_file")
            function(**given, **{name: _secret(name, written, file)})

        command = click.option(
            f"--{name}-file", metavar="FILE", help="Read it from a file with one line."
        )(command)
        warning = "Use - to be asked or to read standard input: other users can see an argument"
        return click.option(f"--{name}", metavar="TEXT|-", help=f"{help}. {warning}.")(command)

    return decorate


def _secret(name: str, written: Optional[str], file: Optional[str]) -> Optional[str]:
    if written is not None and file is not None:
        raise click.BadOptionUsage(name, f"Give --{name} or --{name}-file, not both.")
    try:
        if file is not None:
            return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        if written == "-" and not sys.stdin.isatty():
            return sys.stdin.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadOptionUsage(name, f"--{name} cannot be read: {error}.") from None
    if written == "-":
        asked: str = click.prompt(name.capitalize(), hide_input=True, err=True)
        return asked
    return written


def api_options(function: Command) -> Command:
    """Adds `--url`, `--allow-http`, `--key` and `--json`; the command gets a service."""

    @functools.wraps(function)
    def command(url: str, key: Optional[str], allow_http: bool, **options: Any) -> None:
        key = key or os.environ.get(KEY_VARIABLE, "").strip()
        if not key:
            raise click.BadOptionUsage(
                "key",
                f"Set the merchant's secret key with --key -, --key-file or {KEY_VARIABLE}",
            )
        try:
            with Laari(
                url,
                key,
                timeout=TIMEOUT_SECONDS,
                max_attempts=MAX_ATTEMPTS,
                allow_http=allow_http,
            ) as client:
                function(service=ClientService(client, url), key=key, **options)
        except errors.ConfigurationError as error:
            message = error.message
            for name, option in OPTION_NAMES.items():
                message = message.replace(name, option)
            raise LaariError(message) from None
        except ShopError as error:
            raise LaariError(str(error)) from None

    decorated: Command = command
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON, nothing else."),
        secret_options("key", f"The merchant's secret key; default {KEY_VARIABLE}"),
        click.option("--allow-http", is_flag=True, help="Use plain http to another machine."),
        click.option(
            "--url",
            "url",
            envvar="LAARI_URL",
            default=DEFAULT_URL,
            show_default=True,
            help="The service's address.",
        ),
    ):
        decorated = option(decorated)
    return decorated


def _receiver(value: str) -> str:
    """A URL that can be posted to."""
    try:
        parts, _ = urlsplit(value), httpx.URL(value)
        usable = parts.port != 0 and value.isascii() and value.isprintable()
    except (ValueError, httpx.InvalidURL):
        raise click.BadParameter("is not a URL.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not usable:
        raise click.BadParameter("must be a URL that begins with http:// or https://.")
    if "@" in parts.netloc or "#" in value:
        raise click.BadParameter("must not contain credentials or a fragment.")
    return value


@program.command("listen")
@click.option(
    "--forward-to",
    "target",
    type=_receiver,
    metavar="URL",
    help="The receiver, such as http://localhost:3000/hook. Without it, events are only shown.",
)
@secret_options("secret", "Signs the forwarded events; the secret key if not given")
@click.option("--live", is_flag=True, help="Follow the events of real payments.")
@api_options
def listen_command(
    service: ClientService,
    key: str,
    target: Optional[str],
    secret: Optional[str],
    live: bool,
    as_json: bool,
) -> None:
    """Follow a merchant's events and forward them to a receiver.

    Each event from now on is signed, posted once like a webhook, and shown with the answer; with
    --json as one JSON value on a line. Ctrl-C ends it.
    """
    with ExitStack() as opened:
        receiver = None
        if target is not None:
            signer = "your secret key" if secret in (None, key) else "the secret you gave"
            receiver = opened.enter_context(open_receiver(target, signer, secret or key))
        listen(service, receiver, Terminal(), live=live, as_json=as_json)


@program.command("trigger")
@click.argument("event", type=click.Choice(list(SCENARIOS)), metavar="EVENT")
@api_options
def trigger_command(service: ClientService, key: str, event: str, as_json: bool) -> None:
    """Make an event happen in the sandbox, such as payment.paid.

    Makes a payment, payment request or authorization and takes it as far as the event needs. Its
    webhooks are sent as usual. Does nothing in live mode.
    """
    trigger(service, event, Terminal(), as_json=as_json)


def run(arguments: Sequence[str]) -> int:
    """The exit status: 1 for an error, 2 for unknown commands and options."""
    try:
        status = program.main(
            list(arguments) or ["--help"], prog_name=PROGRAM, standalone_mode=False
        )
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        complain(error.format_message())
        wrong_value = (click.BadParameter, click.BadOptionUsage, click.BadArgumentUsage)
        return 1 if isinstance(error, wrong_value) else error.exit_code
    except LaariError as error:
        complain(error.message)
        return 1
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
