"""Every command there is, and how to call each: tests that hold for all of them find new ones."""

from collections.abc import Iterator, Mapping

import click

from laari.cli.main import cli

IDENTITY = '{"document": "passport", "number": "A1", "born": "1990-01-01", "address": "Malé"}'
# What a command wants besides what click knows that it requires.
OPTIONS = {
    "merchant update": ["--webhooks", "on"],
    "customer set-identity": ["--identity", IDENTITY],
    "session end": ["--email", "evil@shop.mv"],
    "webhook train": ["--secret", "sk_secret"],
    "listen": ["--key", "sk_nobody", "--url", "http://127.0.0.1:9"],
    "trigger": ["--key", "sk_nobody", "--url", "http://127.0.0.1:9"],
}
# Where the name of a parameter does not say what it may be.
SPECIAL = {
    ("tier set", "name"): "tier",
    ("customer set-tier", "tier"): "verified",
    ("merchant user add", "email"): "new_email",
    ("merchant user invite", "email"): "new_email",
    ("merchant user withdraw-invitation", "email"): "invited",
    ("merchant user transfer", "giver"): "email",
    ("merchant user transfer", "receiver"): "member",
    ("operator create", "email"): "new_email",
    ("operator create", "role"): "support",
    ("operator set-role", "role"): "support",
    ("authorization resume", "authorization_id"): "suspended_id",
    ("customer confirm-contact", "contact"): "mobile",
    ("customer cancel-contact", "contact"): "mobile",
    ("payout settle", "what"): "payout_id",
    ("payout return", "what"): "payout_id",
    ("payout cancel", "what"): "payout_id",
    ("payout show", "what"): "payout_id",
    ("payout approve", "number"): "run",
    ("payout file", "number"): "run",
}
# Well-formed, and nobody's.
NOBODY = {
    "merchant_id": "mer_aaaaaaaaaaaaaaaaaaaa",
    "merchant": "mer_aaaaaaaaaaaaaaaaaaaa",
    "customer_id": f"cus_{'0' * 32}",
    "customer": f"cus_{'0' * 32}",
    "client_id": "cl_aaaaaaaaaaaaaaaaaaaa",
    "payment_id": f"pay_{'0' * 32}",
    "authorization_id": f"auth_{'0' * 32}",
    "suspended_id": f"auth_{'0' * 32}",
    "event_id": f"evt_{'0' * 32}",
    "message_id": f"msg_{'0' * 32}",
    "movement_id": f"mov_{'0' * 32}",
    "case_id": f"case_{'0' * 32}",
    "application_id": f"app_{'0' * 32}",
    "language": "dv",
    "mobile": "mobile",
    "payout_id": f"po_{'0' * 32}",
    "run": "999999",
    "reference": "FT-nobody",
    "file": "/dev/null",
    "folder": "/dev/null/backup",  # where nothing can be written
    "account": "7700000000001",
    "email": "evil@shop.mv",
    "new_email": "new@shop.mv",
    "invited": "invited@shop.mv",
    "member": "member@shop.mv",
    "name": "Shop",
    "tier": "gold",
    "verified": "verified",
    "laari": "5",
    "amount": "5",
    "reason": "because",
    "outcome": "resolved",
    "answer": "because",
    "details": "because",
    "url": "http://127.0.0.1:9/hook",
    "event": "payment.paid",
    "role": "owner",
    "support": "support",
    "starts_at": "2099-01-01",
    "text": "7712345",
    "percent": "150",
    "fixed": "0",
    **dict.fromkeys(("legal_name", "registration_number", "address", "contact"), "Shop"),
    "bank_name": "BML",
    "bank_holder": "Shop",
    "bank_account": "7730000012345",
    "monthly_volume": "5",
}


def _leaves(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _leaves(inner, *path, name)
    else:
        yield path


COMMANDS = [" ".join(path) for path in _leaves(cli) if path != ("serve",)]  # that one stays


def arguments(name: str, values: Mapping[str, str] = NOBODY) -> list[str]:
    """The least that a command asks for, after its own words."""
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.commands[word]
    words = [*OPTIONS.get(name, [])]
    for parameter in command.params:
        if not parameter.required:
            continue
        assert parameter.name is not None
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[0])
        key = SPECIAL.get((name, parameter.name), parameter.name)
        assert key in values, f"say in {__name__} what {parameter.name} of {name} may be"
        words.append(values[key])
    return words
