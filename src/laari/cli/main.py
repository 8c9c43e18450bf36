"""The `laari` command."""

import os
import sys
from collections.abc import Sequence

import click

from laari import __version__
from laari.cli.audit import audit_command
from laari.cli.authorizations import authorization
from laari.cli.backup import backup_command, restore_command
from laari.cli.database import init_command, migrate_command
from laari.cli.find import find_command
from laari.cli.health import health_command, volume_command
from laari.cli.journal import journal
from laari.cli.merchants.applications import application
from laari.cli.merchants.clients import client
from laari.cli.merchants.merchants import merchant
from laari.cli.messages import message
from laari.cli.money import bank, merchant_money
from laari.cli.money.payouts import payout
from laari.cli.money.statements import statement_command
from laari.cli.money.tills import till
from laari.cli.money.waiting_movements import movement
from laari.cli.money.wallets import wallet
from laari.cli.payments import payment
from laari.cli.people import contacts, identities
from laari.cli.people.cases import case
from laari.cli.people.customers import customer
from laari.cli.people.operators import operator
from laari.cli.people.people import session
from laari.cli.people.persons import person
from laari.cli.serve.command import serve_command
from laari.cli.shop.listen import listen_command
from laari.cli.shop.trigger import trigger_command
from laari.cli.terminal.output import complain, complain_of_defect
from laari.cli.tiers import tier
from laari.cli.webhooks import webhook
from laari.errors import LaariError

INTERRUPTED = 130  # the exit status that shells give for Ctrl-C


@click.group(context_settings={"show_default": True})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Merchant payments and wallets in Maldivian rufiyaa."""


for command in (
    serve_command,
    init_command,
    find_command,
    merchant,
    application,
    client,
    customer,
    case,
    session,
    operator,
    person,
    wallet,
    movement,
    tier,
    journal,
    payment,
    payout,
    *bank.COMMANDS,
    volume_command,
    statement_command,
    till,
    authorization,
    webhook,
    message,
    listen_command,
    trigger_command,
    health_command,
    audit_command,
    migrate_command,
    backup_command,
    restore_command,
):
    cli.add_command(command)
for command in (*contacts.COMMANDS, *identities.COMMANDS):
    customer.add_command(command)
merchant_money.add_to(merchant)


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Returns the exit status: 1 for an error, 2 only for unknown commands and options."""
    try:
        _refuse_bytes(arguments)
        status = cli.main(list(arguments), prog_name="laari", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        return _refuse(error)
    except LaariError as error:
        complain(str(error))
        return 1
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has ended, as in `laari … | head`; silences the interpreter's last flush too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        complain_of_defect(error)
        return 1


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuses arguments that are not UTF-8: neither the database nor JSON accepts them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise LaariError(f"the argument {argument!r} is not UTF-8 text") from None


def _refuse(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    complain(error.format_message())
    wrong_value = (click.BadParameter, click.BadOptionUsage, click.BadArgumentUsage)
    return 1 if isinstance(error, wrong_value) else error.exit_code
