"""Writes the pages of docs/ that are made from the code, so that they cannot differ from it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from laari.cli.main import cli
from laari.rules.refusals import CODES, PASSING_CODES, Code
from laari.settings import VARIABLES
from laari.store.audit.coverage import Covered, columns_of
from laari.store.audit.covered import TABLES
from tools.faces import leaves, operations_page

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "[//]: # (Made by make docs from {source} and tools/generate_docs.py.)\n"

INTRODUCTION = """
# Errors

Every error code, and what to do about it.

```json
{
  "error": {
    "code": "invalid_request",
    "message": "amount must be an integer, in laari: 12550 is MVR 125.50.",
    "field": "amount"
  }
}
```

Branch on `code`. The `message` is for people and may change. `field` names the wrong field or
parameter, if there is one. Log the `Request-Id` header of the response: support needs it.

Handle an unknown code by its status: change something for 4xx, retry for 429 and 5xx. A response
that is not JSON comes from a proxy: treat it as if there was no response. Unknown query
parameters are ignored and named in the `Laari-Warning` header.

An `Idempotency-Key` does not save the errors marked with \\*.
"""

# The sections of the page: a heading, an introduction, and the codes.
SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "The request",
        "Nothing was changed. Correct the request first.",
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
        "Nothing was changed.",
        ("unauthorized", "insufficient_scope"),
    ),
    (
        "The customer's wallet",
        "No money moved. Only the customer can help.",
        ("insufficient_balance", "wallet_limit_exceeded"),
    ),
    (
        "References and payments",
        "Nothing was changed.",
        (
            "reference_conflict",
            "payment_not_cancellable",
            "payment_request_not_cancellable",
            "payment_conflict",
            "conflict",
        ),
    ),
    (
        "Refunds and payouts",
        "Nothing was changed. See [refunds, balance and payouts](refunds-and-payouts.md).",
        (
            "payment_not_refundable",
            "refund_exceeds_payment",
            "insufficient_merchant_balance",
            "payout_not_possible",
            "payout_conflict",
        ),
    ),
    (
        "Authorizations",
        "Nothing was changed.",
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
        "Retry",
        "Send the same request again, after the seconds in `Retry-After` if it is given.",
        ("rate_limited", "service_unavailable", "internal_error", "not_implemented"),
    ),
    (
        "The wallet API",
        'It answers `{"success": false, "error": {…}}` with the codes above, and one more.',
        ("invalid_pagination",),
    ),
)

TOKENS = """
## Access tokens

`POST /oauth/token` answers `{"error": "invalid_client", "error_description": "…"}`, as in OAuth.

- `invalid_request` (400, 403, 405): send a form with POST over https, each parameter once.
- `unsupported_grant_type` (400): `grant_type` is `client_credentials`.
- `invalid_scope` (400): request only scopes that the client has.
- `invalid_client` (401): check id and secret, and that the merchant is active.
- `temporarily_unavailable` (429, 503): wait for `Retry-After`. Keep a token for its 24 hours.
- `server_error` (500): retry.
"""

# By public code and status. The response itself has the code's message.
ADVICE: dict[tuple[str, int], str] = {
    ("invalid_request", 400): "`field` is missing, malformed or unknown. Amounts are integers in "
    'laari: `12550`, not `125.50` or `"12550"`. The body is a JSON object with `Content-Type: '
    "application/json`.",
    ("invalid_request", 403): "Use the https address.",
    ("invalid_request", 408): "Slow connection or wrong `Content-Length`. Retry.",
    ("invalid_json", 400): "Also duplicate members, `NaN`, more than 32 levels. Use a JSON "
    "library.",
    ("request_too_large", 400): CODES["request_too_large"].message,
    ("request_too_large", 431): "The header exceeds 64 KiB or 100 fields.",
    ("unsupported_api_version", 400): "Omit `Service-Version` to use the latest.",
    ("invalid_idempotency_key", 400): "1 to 255 printable ASCII characters without spaces, such as "
    "a UUID.",
    ("customer_not_found", 400): "Check the recipient, or send a [payment link](checkout.md).",
    ("sandbox_recipient_not_allowed", 400): "See [recipients](sandbox.md#recipients).",
    ("not_found", 404): "Wrong path or id, or it belongs to another merchant or mode. `{id}` is "
    "Laari's id (`pay_…`), not your reference.",
    ("authorization_not_found", 404): "The same for an authorization.",
    ("payment_request_not_found", 404): "The same for a payment request.",
    ("method_not_allowed", 405): "See the `Allow` header.",
    ("unauthorized", 401): "Missing, wrong or expired credentials. Send `Authorization: Bearer "
    "TOKEN`, `X-API-Key: SECRET_KEY`, or Basic with merchant id and secret key. Only the first of "
    "these that is present counts. Tokens expire after 24 hours.",
    ("insufficient_scope", 403): "The message names the scope. Add it to the OAuth client or "
    "request it for the token.",
    ("insufficient_balance", 402): "Ask the customer to top up. A payment stays open; a charge "
    "needs a new attempt with a new `Idempotency-Key`.",
    ("wallet_limit_exceeded", 422): "Try a smaller amount or a later day.",
    ("reference_conflict", 409): "The reference belongs to something else; the message has the id "
    "and the difference. Repeat the original request exactly, or use a new reference.",
    ("payment_not_cancellable", 409): "It has ended. If it is paid, fulfil or refund it.",
    ("payment_not_refundable", 409): "Not paid, refunded already, paid more than 365 days ago, or "
    "refunded 50 times: the message says which.",
    ("refund_exceeds_payment", 409): "The message has the amount that is left.",
    ("insufficient_merchant_balance", 409): "The message has the missing amount. Refund less, or "
    "wait for more payments.",
    ("payout_not_possible", 409): "Nothing is available, or another payout came first: the "
    "message has the reason.",
    ("payout_conflict", 409): "It was returned or cancelled, or is settled already: read it. A "
    "settled payout can still be returned, once.",
    ("payment_request_not_cancellable", 409): "It has ended, or the customer is paying now.",
    ("payment_conflict", 409): "It has ended, or another attempt is being processed: read it.",
    ("conflict", 409): "The state has changed: read the resource.",
    ("authorization_unapproved", 409): "Wait for `authorization.approved`.",
    ("authorization_inactive", 409): "Rejected, revoked, cancelled, paused or used up. Stop "
    "charging and ask the customer.",
    ("authorization_expired", 409): "Request a new one. Approval is possible for 24 hours.",
    ("authorization_not_pending", 409): "The customer has decided: read it.",
    ("authorization_not_cancellable", 409): "It has ended, or a charge is in progress: read it, "
    "and retry in a second.",
    ("authorization_unavailable", 409): "It has changed: read it.",
    ("per_payment_limit_exceeded", 409): "Charge less, or request a higher limit.",
    ("period_limit_exceeded", 409): "Wait for the next period, or charge the rest "
    "(`charge-preview`).",
    ("total_limit_exceeded", 409): "Charge the rest, or request a new authorization.",
    ("payment_count_limit_exceeded", 409): "Request a new authorization.",
    ("currency_mismatch", 409): "Not in MVR: report it to the operator.",
    ("payment_in_progress", 409): "Another charge is running. Retry in a second.",
    ("idempotency_conflict", 409): "The key was used with other data. Use a new key for a new "
    "request.",
    ("idempotency_in_progress", 409): "The first request is running. Retry in a second.",
    ("idempotency_unavailable", 503): "Retry with the same key and body.",
    ("rate_limited", 429): "Usual limits: 100 requests a second live, 25 in the sandbox.",
    ("service_unavailable", 503): "Nothing was changed. Wait longer each time.",
    ("internal_error", 500): "The outcome may be unknown. The same reference and key make a retry "
    "safe.",
    ("not_implemented", 501): "Do not retry.",
    ("invalid_pagination", 400): "`limit` is 1 to 100, `before` the last `next_cursor` of the same "
    "account.",
}


def statuses_of(public: str) -> list[tuple[str, Code]]:
    """Every row of the table that is shown under a code, by status."""
    rows = [(name, code) for name, code in CODES.items() if (code.shown_as or name) == public]
    return sorted(rows, key=lambda row: row[1].status)


def described(public: str) -> list[str]:
    return [
        f"- `{public}` ({code.status}{'*' if name in PASSING_CODES else ''}): "
        f"{ADVICE[public, code.status]}"
        for name, code in statuses_of(public)
    ]


def error_guide() -> str:
    lines = [NOTE.format(source="laari.rules.refusals") + INTRODUCTION]
    for title, about, codes in SECTIONS:
        lines += [f"## {title}", "", about, ""]
        for public in codes:
            lines += described(public)
        lines.append("")
    return "\n".join(lines) + TOKENS


SETTINGS = """
# Settings

Laari reads its settings once, at the start, from environment variables. A blank variable counts as
unset. `laari serve --help` lists the same. Defaults are in brackets. See also:
[database](operations.md#database), [log archive](backup.md#any-moment-archived-log),
[sign-up for a sandbox](testing-your-shop.md#a-merchant-over-http),
[metrics](operations.md#metrics) and [retention](operations.md#retention).

"""


def settings_page() -> str:
    rows = []
    for each in VARIABLES:
        in_words = each.default.startswith("(")
        default = each.default.strip("()") if in_words else f"`{each.default}`"
        rows.append(f"- `{each.name}` ({default}): {each.meaning}\n")
    return NOTE.format(source="laari.settings") + SETTINGS + "".join(rows)


COMMANDS = """
# Commands

Commands work while the service runs, with the same
[settings](settings.md). `laari COMMAND --help` explains every option.

- **Output.** With `--json`, every command prints one JSON value and nothing else. Tables, errors
  and logs escape control characters (`\\x1b`).
- **Errors** are one line, with exit status 1; for an unknown command or option 2.
- **Secrets.** Other users of the machine can see arguments, and the shell's history keeps them.
  `--password -` asks for the password, or reads a line of standard input. `--password-file FILE`
  reads a file. `--secret` and `--key` work the same way. Such a password is printed as `null`.
- **Passwords** need ten characters and must not be common ones, except for sandbox customers.
"""


def usage(parameter: click.Parameter) -> str:
    """As in `--help`: brackets mean that it can be left out."""
    if isinstance(parameter, click.Option):
        text = "|".join([*parameter.opts, *parameter.secondary_opts])
    else:
        text = parameter.metavar or (parameter.name or "").upper()
    return text if parameter.required else f"[{text}]"


def command_line(name: str, command: click.Command) -> str:
    parameters = [each for each in command.params if "--json" not in each.opts]
    line = " ".join([name, *map(usage, parameters)])
    return f"- `{line}`: {command.get_short_help_str(200)}\n"


def commands_page() -> str:
    lines = [NOTE.format(source="laari.cli") + COMMANDS]
    for word, top in cli.commands.items():
        lines.append(f"\n## {word.capitalize()}\n\n")
        lines += [command_line(name, command) for name, command in leaves(top, f"laari {word}")]
    return "".join(lines)


COVERAGE = """
# What the audit covers

Each column of the database is one of these. [The audit](audit.md) explains the mechanisms.

- **Sealed:** a [seal](audit.md#what-is-sealed) covers the value.
- **Kept:** the service keeps each change of the record, with all values, in a sealed table. The
  audit compares the record with its last change.
- **Journal:** the audit compares the value with its last entry in the
  [journal](audit.md#the-journal), which is sealed.
- **Computed:** the audit computes the value again from such values. The names of the checks are in
  brackets.
- **Master key:** the value is made with the master key, so a row that somebody changes or adds in
  the database opens nothing.
- **Not covered:** a change is not found, for the reason that is named.

A deleted row is found too, if the table does not say otherwise. So is a row that somebody adds to a
table with a value that is sealed, kept, computed or in the journal. Several rows that agree with
each other may not be: [what an attacker can do](audit.md#what-an-attacker-can-do).
"""

_WAYS = {"sealed": "Sealed", "kept": "Kept", "journal": "Journal", "keyed": "Master key"}


def _coverage_of(table: Covered) -> Iterator[str]:
    columns: dict[str, list[str]] = {}
    for column in columns_of(table):
        if column.kind == "derived":
            way = f"Computed ({', '.join(f'`{kind}`' for kind in column.by.split())})"
        elif column.kind == "open":
            way = "Not covered"
        else:
            way = _WAYS[column.kind]
        why = f" {column.by}" if column.kind == "open" else ""
        columns.setdefault(f"{way}|{why}", []).append(f"`{column.name}`")
    for title, names in columns.items():
        way, _, why = title.partition("|")
        yield f"- **{way}:** {', '.join(names)}.{why}"
    if table.traceless:
        states = " and ".join(f"`{state}`" for state in table.traceless.split())
        yield f"- A change between {states} leaves no trace."
    if table.deleted:
        yield f"- A deleted row is not noticed. {table.deleted}"
    if table.added_named:
        kinds = ", ".join(f"`{kind}`" for kind in table.added_named.split())
        yield f"- An added row is named by {kinds}."
    if table.added:
        some = "Some added rows are" if table.added_named else "An added row is"
        yield f"- {some} not noticed. {table.added}"


def coverage_page() -> str:
    lines = [NOTE.format(source="laari.store.audit.covered") + COVERAGE]
    for name, table in sorted(TABLES.items()):
        lines += [f"## {name}", "", *_coverage_of(table), ""]
    return "\n".join(lines)


PAGES: dict[str, Callable[[], str]] = {
    "guides/errors.md": error_guide,
    "settings.md": settings_page,
    "commands.md": commands_page,
    "audit-coverage.md": coverage_page,
    "declared-operations.md": lambda: (
        NOTE.format(source="src/laari/operations") + operations_page()
    ),
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
