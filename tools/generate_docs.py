"""Writes the pages of docs/ that are made from the code, so that they cannot differ from it."""

from collections.abc import Iterator
from pathlib import Path

import click

from laari.cli.main import cli
from laari.rules.refusals import CODES, PASSING_CODES, Code
from laari.settings import VARIABLES

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "[//]: # (Made by make docs from {source} and tools/generate_docs.py.)\n"

INTRODUCTION = """
# Errors

Every code that Laari answers, and what to do about it.

## What an error looks like

```json
{
  "error": {
    "code": "invalid_request",
    "message": "amount must be an integer, in laari: 12550 is MVR 125.50.",
    "field": "amount"
  }
}
```

Branch on `code`. The `message` is for people: it may be more exact than on this page, and it may
change. `field` names the field or parameter that is wrong, if there is one. The `Request-Id` header
of every answer is what support asks for.

Treat a code that you do not know by its status: 4xx means change something, 429 and 5xx mean come
again. An answer that is not JSON came from a server on the way; treat it like no answer.

A query parameter that is not known is ignored, and the `Laari-Warning` header of the response names
it: log that header while you develop.
"""

# What the page is made of: a heading, a word about it, and the codes by their names in the table.
SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "The request",
        "Nothing was done. Change the request; sending it again as it is does not help.",
        (
            "invalid_request",
            "invalid_json",
            "request_too_large",
            "unsupported_api_version",
            "invalid_idempotency_key",
            "customer_not_found",
            "sandbox_recipient_not_allowed",
            "not_found",
            "authorization_not_found",
            "payment_request_not_found",
            "method_not_allowed",
        ),
    ),
    (
        "Credentials",
        "Nothing was done.",
        ("unauthorized", "insufficient_scope"),
    ),
    (
        "The customer's wallet",
        "No money moved. The customer can do something about it; you cannot.",
        ("insufficient_balance", "wallet_limit_exceeded"),
    ),
    (
        "References and payments",
        "Nothing was changed: the state of what you named does not allow it.",
        (
            "reference_conflict",
            "payment_not_cancellable",
            "payment_request_not_cancellable",
            "payment_conflict",
            "conflict",
        ),
    ),
    (
        "Authorizations",
        "No money moved, nothing was changed.",
        (
            "authorization_unapproved",
            "authorization_inactive",
            "authorization_expired",
            "authorization_not_pending",
            "authorization_not_cancellable",
            "authorization_unavailable",
            "per_payment_limit_exceeded",
            "period_limit_exceeded",
            "total_limit_exceeded",
            "payment_count_limit_exceeded",
            "currency_mismatch",
            "payment_in_progress",
        ),
    ),
    (
        "Idempotency keys",
        "See [idempotency and retries](idempotency.md).",
        ("idempotency_conflict", "idempotency_in_progress", "idempotency_unavailable"),
    ),
    (
        "Come again",
        "Send the same request again, after the seconds in `Retry-After` where it is given.",
        ("rate_limited", "service_unavailable", "internal_error", "not_implemented"),
    ),
    (
        "The wallet interface",
        'It answers `{"success": false, "error": {…}}`, with codes from above and one of its own.',
        ("invalid_pagination",),
    ),
)

TOKENS = """
## Access tokens

`POST /oauth/token` answers as OAuth has it:
`{"error": "invalid_client", "error_description": "…"}`.

| Error | HTTP | What to do |
| --- | --- | --- |
| `invalid_request` | 400, 403, 405 | send a form with POST, over https, with each parameter once |
| `unsupported_grant_type` | 400 | `grant_type` is `client_credentials` |
| `invalid_scope` | 400 | ask for scopes that the client was given |
| `invalid_client` | 401 | check id and secret, and that the merchant is active |
| `temporarily_unavailable` | 429, 503 | wait as `Retry-After` says; keep a token for its 24 hours |
| `server_error` | 500 | ask again |
"""

# By public code and status.
ADVICE: dict[tuple[str, int], str] = {
    ("invalid_request", 400): "`field` says which field is missing, malformed or not known here. "
    'Amounts are integers of laari: `12550`, not `125.50` and not `"12550"`. The body is a JSON '
    "object with `Content-Type: application/json`.",
    ("invalid_request", 403): "Call the https address.",
    ("invalid_request", 408): "The connection was too slow, or the body shorter than its "
    "`Content-Length`. Send it again.",
    ("invalid_json", 400): "The body cannot be parsed, or has the same member twice, `NaN`, or "
    "nesting deeper than 32. Let a library write it.",
    ("request_too_large", 400): "Send less; nothing that Laari keeps is that long.",
    (
        "request_too_large",
        431,
    ): "Send fewer or shorter headers; often a cookie that does not belong here.",
    ("unsupported_api_version", 400): "The message names the latest version. Leave the "
    "`Service-Version` header out to use it.",
    ("invalid_idempotency_key", 400): "A random UUID does.",
    ("customer_not_found", 400): "Check the number or address with the customer, or send them a "
    "[payment link](checkout.md) instead.",
    ("sandbox_recipient_not_allowed", 400): 'In the sandbox ask `{"type": "vpa", "value": '
    '"sandbox"}`. See [recipients](sandbox.md#recipients).',
    ("not_found", 404): "The path or the id is wrong, or what you ask for belongs to another "
    "merchant or mode. `{id}` is Laari's id (`pay_…`), not your reference.",
    ("authorization_not_found", 404): "As `not_found`, for an authorization (`auth_…`).",
    ("payment_request_not_found", 404): "As `not_found`, for a payment request.",
    ("method_not_allowed", 405): "The `Allow` header names the method.",
    ("unauthorized", 401): "Send one of `X-API-Key: SECRET_KEY`, `Authorization: Bearer TOKEN` or "
    "Basic with merchant id and secret key. A token ends after 24 hours: get another. The first "
    "method in that list that is present counts, Bearer before the key, and no other is tried.",
    ("insufficient_scope", 403): "The message names the scope. Give it to the OAuth client, or ask "
    "for a token with it.",
    ("insufficient_balance", 402): "Ask the customer to top up. A payment stays open and can be "
    "paid then; a charge needs a new attempt, with a new `Idempotency-Key`.",
    (
        "wallet_limit_exceeded",
        422,
    ): "More than the customer's wallet may spend at once, today, this "
    "week or this month. A smaller amount or a later day may work.",
    ("reference_conflict", 409): "This reference is taken by something else, or by the same with "
    "other data: the message has its id and says what differs. A retry must repeat the original; "
    "something new needs a new reference.",
    (
        "payment_not_cancellable",
        409,
    ): "Read the payment: it is paid, rejected, expired or refunded. "
    "If it is paid, fulfil or refund it.",
    ("payment_request_not_cancellable", 409): "Read the request: it was answered, has expired, or "
    "the customer is paying at this moment.",
    ("payment_conflict", 409): "Read the payment. It is no longer pending, is overdue, or another "
    "attempt is being processed; in the last case wait.",
    ("conflict", 409): "Read the resource and decide anew.",
    ("authorization_unapproved", 409): "Wait for `authorization.approved`.",
    ("authorization_inactive", 409): "It was rejected, revoked, cancelled, paused or used up. Stop "
    "charging, and ask the customer.",
    (
        "authorization_expired",
        409,
    ): "Its `expires_at` or the 24 hours to approve it have passed. Ask for a new one.",
    ("authorization_not_pending", 409): "The customer has decided already: read it.",
    (
        "authorization_not_cancellable",
        409,
    ): "It has ended, or a charge is in progress: read it, and "
    "try again in a second in the second case.",
    ("authorization_unavailable", 409): "It has changed or ended meanwhile: read it.",
    ("per_payment_limit_exceeded", 409): "Charge less at once, or ask for an authorization with a "
    "higher limit.",
    ("period_limit_exceeded", 409): "Wait for the next period, or charge what remains. "
    "`charge-preview` says how much that is and when the period ends.",
    ("total_limit_exceeded", 409): "Charge what remains, or ask for a new authorization.",
    ("payment_count_limit_exceeded", 409): "Ask for a new authorization.",
    ("currency_mismatch", 409): "Tell the operator: there is no authorization in another currency.",
    ("payment_in_progress", 409): "Wait a second and send the same request again.",
    ("idempotency_conflict", 409): "Your program used one key for two requests. Use a new key for "
    "the new request.",
    (
        "idempotency_in_progress",
        409,
    ): "The first request is still running. Wait a second and send the same again.",
    ("idempotency_unavailable", 503): "Send the same request with the same key.",
    ("rate_limited", 429): "Wait as `Retry-After` says. 100 requests a second live and 25 in the "
    "sandbox are the usual limits.",
    ("service_unavailable", 503): "Send it again; each time wait a little longer.",
    ("internal_error", 500): "It may have been done or not. Send the same request with the same "
    "reference and key: that finds out, and counts once.",
    ("not_implemented", 501): "Do not send it again: this service does not do it.",
    ("invalid_pagination", 400): "`limit` is a whole number from 1 to 100, `before` the last "
    "`next_cursor` of the same account.",
}


def statuses_of(public: str) -> list[tuple[str, Code]]:
    """Every row of the table that is shown under a code; where there are two, by status."""
    rows = [(name, code) for name, code in CODES.items() if (code.shown_as or name) == public]
    return sorted(rows, key=lambda row: row[1].status)


def described(public: str) -> list[str]:
    lines = [f"### `{public}`", ""]
    for name, code in statuses_of(public):
        kept = " An `Idempotency-Key` does not keep this answer." if name in PASSING_CODES else ""
        advice = ADVICE[public, code.status]
        lines += [f"**{code.status}** · {code.message} {advice}{kept}", ""]
    return lines


def error_guide() -> str:
    lines = [NOTE.format(source="laari.rules.refusals") + INTRODUCTION]
    for title, about, codes in SECTIONS:
        lines += [f"## {title}", "", about, ""]
        for public in codes:
            lines += described(public)
    return "\n".join(lines) + TOKENS


SETTINGS = """
# Settings

Settings come from the environment and are read once, at the start. A blank variable counts as
unset. `laari serve --help` lists the same. More about some of them:
[database](operations.md#database), [log archive](backup.md#any-moment-archived-log),
[sign-up for a sandbox](testing-your-shop.md#a-merchant-over-http),
[metrics](operations.md#metrics) and [retention](operations.md#retention).

| Variable | Default | Meaning |
| --- | --- | --- |
"""


def settings_page() -> str:
    rows = []
    for each in VARIABLES:
        in_words = each.default.startswith("(")
        default = each.default.strip("()") if in_words else f"`{each.default}`"
        rows.append(f"| `{each.name}` | {default} | {each.meaning} |\n")
    return NOTE.format(source="laari.settings") + SETTINGS + "".join(rows)


COMMANDS = """
# Commands

`make run` installs the command as `.venv/bin/laari`. Commands work while the service runs. They use
the same [settings](settings.md) as the service, so run them with the same environment.
`laari COMMAND --help` explains every option.

- **Output.** With `--json` every command prints one JSON value and nothing else. Tables, errors and
  logs escape control characters in text from other people (`\\x1b`), so that no name or title can
  control your terminal.
- **Errors** are one line, with exit status 1. `laari audit` also ends with 1 if it finds a
  difference.
- **Secrets.** Other users of the machine can see arguments, and the shell keeps them in its
  history. `--password -` prompts for the password, or reads one line from standard input if that
  is not a terminal. `--password-file FILE` reads a file. `--secret` of `laari webhook train` works
  the same way. A command prints `null` for a password that came in one of these ways.
- **Passwords** need at least ten characters and must not be common ones. Sandbox customers may
  have any password.
- **Database.** Only `laari serve` and `laari init` create a database. All other commands stop with
  an error if there is none.

| Command | Purpose | Options |
| --- | --- | --- |
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from commands(inner, f"{name} {word}")


def command_row(name: str, command: click.Command) -> str:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    usage = " ".join([name, *(each.make_metavar(click.Context(command)) for each in arguments)])
    options = [
        f"`{max(each.opts, key=len)}`"
        for each in command.params
        if isinstance(each, click.Option) and "--json" not in each.opts
    ]
    return f"| `{usage}` | {command.get_short_help_str(200)} | {', '.join(options)} |\n"


def commands_page() -> str:
    rows = [command_row(name, command) for name, command in commands(cli, "laari")]
    return NOTE.format(source="laari.cli") + COMMANDS + "".join(rows)


PAGES = {
    "guides/errors.md": error_guide,
    "settings.md": settings_page,
    "commands.md": commands_page,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
