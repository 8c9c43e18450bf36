"""The table of permissions, and the parts of the program that have to name one."""

import re
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from laari.cli.main import cli
from laari.cli.terminal.permission import permission_of
from laari.edge.pages import app as pages
from laari.edge.pages.app import ROUTES
from laari.rules.actors import Actor
from laari.rules.banking.wallet_controls import FreezeWallet
from laari.rules.people.permissions import EVERY, ROLES, may
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.cli.commands import COMMANDS

CHANGING = {
    "payments.create",
    "payments.cancel",
    "payments.refund",
    "authorizations.create",
    "authorizations.charge",
    "authorizations.cancel",
    "payouts.request",
    "bank.manage",
    "keys.manage",
    "mode.change",
    "name.change",
    "webhooks.manage",
    "sandbox.control",
    "people.manage",
}


TEMPLATES = sorted((Path(pages.__file__).parent / "templates").rglob("*.html"))


def test_templates_name_only_permissions_that_exist() -> None:
    """A name that does not exist would hide a form from everybody."""
    named = {
        (path.name, name)
        for path in TEMPLATES
        for name in re.findall(r"\bmay\(\s*[\"']([^\"']*)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 30
    assert {(path, name) for path, name in named if name not in EVERY} == set()


def test_a_cashier_has_links_and_sales_alone() -> None:
    links = {"payments.read", "payments.create", "payments.cancel"}
    assert ROLES["cashier"] == links | {"tills.close"}


def test_an_accountant_reads_and_exports_and_changes_nothing() -> None:
    assert {"payments.read", "money.read", "exports.read"} <= ROLES["accountant"]
    assert ROLES["accountant"] & CHANGING == set()
    assert all(name.endswith(".read") for name in ROLES["accountant"])


def test_a_manager_has_everything_except_people_bank_and_mode() -> None:
    assert ROLES["owner"] - ROLES["manager"] == {
        "people.manage",
        "bank.manage",
        "mode.change",
        "name.change",
    }
    assert ROLES["manager"] < ROLES["owner"]


def test_an_admin_may_do_everything_and_nobody_else_manages_operators() -> None:
    assert ROLES["admin"] == EVERY
    assert [role for role in ROLES if may(role, "operators.manage")] == ["admin"]


def test_support_moves_no_money_and_merchants_have_nothing_of_the_operator() -> None:
    assert not {"wallets.move", "payments.refund", "payouts.run", "exports.read"} & ROLES["support"]
    for role in ("owner", "manager", "accountant", "cashier"):
        assert not {"customers.read", "wallets.read", "merchants.read"} & ROLES[role]


def test_finance_writes_no_notes_about_customers() -> None:
    assert [role for role in ROLES if may(role, "customers.note")] == ["admin", "support"]


@pytest.mark.parametrize("name", [*COMMANDS, "serve"])
def test_every_command_names_its_permission(name: str) -> None:
    command: click.Command = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.commands[word]
    assert command.callback is not None
    permission = permission_of(command.callback)
    assert permission in EVERY
    assert may("admin", permission)


def test_every_page_for_people_names_its_permission_or_is_their_own() -> None:
    areas = ("/dashboard", "/operator")
    found = [route for route in ROUTES if route.path.startswith(areas)]
    assert len(found) > 30
    for route in found:
        access = route.access
        assert access.own != (access.needs in EVERY), route.path
        assert access.to_change in ({None} if access.own else EVERY), route.path


def test_a_command_checks_the_role_of_its_actor() -> None:
    """Also if a page or a program that submits it has forgotten to."""
    world = World(datetime(2027, 1, 1, tzinfo=UTC), "", bytes)
    finance = Actor("operator", "fathimath@operator.example", "finance")
    refused = FreezeWallet(finance, 1, "Lost phone").decide(world)
    assert isinstance(refused, Refusal)
    assert refused.message == "Your role does not allow this."
