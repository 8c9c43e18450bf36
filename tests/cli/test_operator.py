"""The operator's commands, run as the shell would run them, on a database of their own."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from laari.cli.main import run
from laari.rules.actors import Payer
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.records.tenants import MODES, Mode
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants

pytestmark = pytest.mark.ci


class Ended(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        assert self.err == ""
        return json.loads(self.out)  # fails on anything beside the one value


Laari = Callable[..., Ended]


@pytest.fixture
def laari(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Laari:
    monkeypatch.setenv("LAARI_DATABASE_URL", dsn)
    monkeypatch.setenv("LAARI_MASTER_KEY", "00" * 32)

    def command(*arguments: str) -> Ended:
        status = run(arguments)
        return Ended(status, *capsys.readouterr())

    return command


SANDBOX = ("--mode", "sandbox")


def make_payment(
    dsn: str,
    merchant_id: str,
    payer: int | None = None,
    mode: Mode = "sandbox",
    reference: str = "order-1",
) -> str:
    """A payment of MVR 100.00, paid if there is a payer."""

    async def make() -> str:
        async with connection_to(dsn) as connection:
            tenant = await tenants.of_merchant(connection, merchant_id, mode)
        runner = BatchRunner(dsn, "http://laari.test")
        [payment] = await runner.run([CreatePayment(tenant, PaymentDraft(reference, 10_000))], 1)
        if payer is not None:
            await runner.run([PayPayment(tenant, payment.id, Payer(payer, tenant.mode))], 1)
        await runner.close()
        return f"pay_{payment.id.hex}"

    return asyncio.run(make())


def test_a_merchant_is_made_shown_and_listed(laari: Laari) -> None:
    made = laari(
        "merchant",
        "create",
        " Shop ",
        "--mode",
        "live",
        "--fee-bps",
        "250",
        "--fee-fixed",
        "100",
        "--webhook-url",
        "https://shop.mv/hook",
        "--email",
        "Owner@Shop.mv",
        "--json",
    ).json
    assert made["secret_key"].startswith("sk_")
    assert made["email"] == "owner@shop.mv"
    assert made["password"]
    secrets = {"secret_key", "email", "password"}
    shown = laari("merchant", "show", made["merchant_id"], "--json").json
    assert shown.pop("balance") == {"live": 0, "sandbox": 0}
    assert shown.pop("old_key_until") is None
    assert (shown.pop("approved"), shown.pop("inactive_reason")) == (True, None)
    assert shown == {name: value for name, value in made.items() if name not in secrets}
    assert shown.pop("created_at").endswith("+05:00")
    assert shown == {
        "merchant_id": made["merchant_id"],
        "name": "Shop",
        "mode": "live",
        "active": True,
        "webhook_url": "https://shop.mv/hook",
        "webhooks": True,
        "fee_bps": 250,
        "fee_fixed": 100,
    }
    assert [found["merchant_id"] for found in laari("merchant", "list", "--json").json] == [
        made["merchant_id"]
    ]


def test_a_merchant_starts_in_the_sandbox_without_fees(laari: Laari) -> None:
    made = laari("merchant", "create", "Shop", "--json").json
    assert (made["mode"], made["fee_bps"], made["fee_fixed"]) == ("sandbox", 0, 0)
    assert made["webhook_url"] is None
    assert "password" not in made


def test_a_merchant_is_changed_in_parts(laari: Laari) -> None:
    merchant_id = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    update = ("merchant", "update", merchant_id, "--json")
    assert laari(*update, "--mode", "live", "--inactive").json["active"] is False
    changed = laari(*update, "--webhook-url", "https://a.mv/", "--webhooks", "off").json
    assert (changed["mode"], changed["active"], changed["webhooks"]) == ("live", False, False)
    assert laari(*update, "--active", "--webhook-url", "").json["webhook_url"] is None
    assert laari(*update).json["active"] is True


def test_a_new_secret_key_replaces_the_old(laari: Laari) -> None:
    made = laari("merchant", "create", "Shop", "--json").json
    rotated = laari("merchant", "rotate-key", made["merchant_id"], "--json").json
    assert rotated["secret_key"].startswith("sk_")
    assert rotated["secret_key"] != made["secret_key"]
    assert rotated["old_key_until"] is None


def test_a_new_secret_key_can_overlap_with_the_old(laari: Laari) -> None:
    merchant_id = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    rotate = ("merchant", "rotate-key", merchant_id, "--overlap")
    until = laari(*rotate, "168", "--json").json["old_key_until"]
    assert laari("merchant", "show", merchant_id, "--json").json["old_key_until"] == until
    refused = laari(*rotate, "1")
    assert refused.status == 1
    assert f"laari merchant end-old-key {merchant_id}" in refused.err
    ended = laari("merchant", "end-old-key", merchant_id, "--json").json
    assert ended["old_key_until"] is None
    assert laari(*rotate, "1", "--json").json["old_key_until"] is not None
    assert laari(*rotate, "0", "--json").json["old_key_until"] is None
    for hours in ("169", "-1", "1.5"):
        assert "from 0 to 168" in laari(*rotate, hours).err


def test_a_customer_is_made_with_money(laari: Laari) -> None:
    made = laari(
        "customer",
        "create",
        "Aisha",
        "--mobile",
        "+960 777-1234",
        "--vpa",
        "Aisha@fp",
        "--balance",
        "5000",
        "--password",
        "correct horse",
        "--mode",
        "live",
        "--json",
    ).json
    assert set(made) == {"customer_id", "account_number", "api_key", "password", "mode"}
    assert made["customer_id"].startswith("cus_")
    assert made["api_key"].startswith("wk_")
    assert (made["password"], made["mode"]) == ("correct horse", "live")
    again = laari("customer", "create", "Other", "--mobile", "7771234", "--mode", "live")
    assert (again.status, again.out) == (1, "")
    assert again.err == "laari: another customer has this mobile number\n"


def test_merchants_start_in_the_sandbox_and_customers_live(laari: Laari) -> None:
    shop = laari("merchant", "create", "Shop", "--json").json
    customer = laari("customer", "create", "Aisha", "--json").json
    assert (shop["mode"], customer["mode"]) == ("sandbox", "live")


def test_money_is_moved_both_ways(laari: Laari) -> None:
    account = laari("customer", "create", "Aisha", "--json").json["account_number"]
    topup = laari("wallet", "topup", account, "5000", "--json").json
    assert set(topup) >= {"tid", "account", "time", "type", "name", "details", "amount", "status"}
    assert (topup["account"], topup["type"], topup["amount"]) == (account, "topup", 5000)
    taken = laari("wallet", "adjust", account, "-500", "--reason", "Wrong", "--json").json
    assert (taken["amount"], taken["details"], taken["type"]) == (-500, "Wrong", "adjustment")
    odd = laari("wallet", "adjust", "--json", "--reason", "-7", account, "-600").json
    assert (odd["amount"], odd["details"]) == (-600, "-7")
    assert laari("wallet", "adjust", account, "+9", "--reason", "x", "--json").json["amount"] == 9
    report = laari("audit", "--json").json
    assert (report["ok"], report["transfers"], report["differences"]) == (True, 4, [])


def test_tiers_are_listed_and_set(laari: Laari) -> None:
    tiers = {tier["name"]: tier for tier in laari("tier", "list", "--json").json}
    assert tiers["basic"] == {
        "name": "basic",
        "per_transaction": 500_000,
        "daily": 1_000_000,
        "weekly": 3_000_000,
        "monthly": 5_000_000,
    }
    assert tiers["business"]["monthly"] is None
    gold = laari("tier", "set", "gold", "--daily", "9", "--weekly", "10", "--json").json
    assert (gold["daily"], gold["weekly"], gold["monthly"]) == (9, 10, None)
    gold = laari("tier", "set", "gold", "--daily", "none", "--json").json
    assert (gold["daily"], gold["weekly"]) == (None, 10)


def test_a_paid_payment_is_refunded_once(laari: Laari, dsn: str) -> None:
    merchant_id = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    customer = laari("customer", "create", "Aisha", *SANDBOX, "--balance", "10000", "--json").json
    payment_id = make_payment(dsn, merchant_id, int(customer["account_number"]))
    refunded = laari("payment", "refund", payment_id, "--json").json
    assert (refunded["id"], refunded["status"], refunded["amount"]) == (
        payment_id,
        "refunded",
        10_000,
    )
    again = laari("payment", "refund", payment_id, "--json")
    assert (again.status, again.out) == (1, "")
    assert again.err.count("\n") == 1
    assert "refunded" in again.err
    assert laari("audit", "--json").json["ok"] is True


@pytest.mark.parametrize("reason", ["duplicate", None])
def test_the_reason_of_a_refund_is_kept(laari: Laari, dsn: str, reason: str | None) -> None:
    merchant_id = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    customer = laari("customer", "create", "Aisha", *SANDBOX, "--balance", "10000", "--json").json
    payment_id = make_payment(dsn, merchant_id, int(customer["account_number"]))
    before = laari("payment", "show", payment_id, "--json").json
    assert (before["refunded_at"], before["refunded_amount"], before["refunds"]) == (None, 0, [])
    assert (before["merchant_id"], before["mode"]) == (merchant_id, "sandbox")
    unknown = laari("payment", "refund", payment_id, "--reason", "weather")
    assert (unknown.status, "requested_by_customer" in unknown.err) == (1, True)
    given = () if reason is None else ("--reason", reason)
    refunded = laari("payment", "refund", payment_id, *given, "--json").json
    assert "refunds" not in refunded  # the payment as merchants see it
    shown = laari("payment", "show", payment_id, "--json").json
    [made] = shown["refunds"]
    assert (shown["status"], shown["refunded_amount"]) == ("refunded", 10_000)
    assert (made["amount"], made["reason"], made["note"]) == (10_000, reason, None)
    assert (made["actor"], made["id"][:4]) == ("command_line", "rfd_")
    assert shown["refunded_at"].endswith("+05:00")
    # A second refund does not replace it.
    assert laari("payment", "refund", payment_id, "--reason", "other").status == 1
    assert laari("payment", "show", payment_id, "--json").json == shown
    assert laari("audit", "--json").json["ok"] is True


def test_a_merchant_is_shown_with_its_balances(laari: Laari, dsn: str) -> None:
    fees = ("--fee-bps", "150", "--fee-fixed", "7")
    merchant_id = laari("merchant", "create", "Shop", *fees, "--json").json["merchant_id"]
    other = laari("merchant", "create", "Other", "--json").json["merchant_id"]
    for mode in MODES:
        made = laari("customer", "create", "A", "--balance", "50000", "--mode", mode, "--json").json
        payer = int(made["account_number"])
        make_payment(dsn, merchant_id, payer, mode, "kept")
        if mode == "sandbox":  # the fee of a refunded payment stays with the service
            refunded = make_payment(dsn, merchant_id, payer, mode, "refunded")
            assert laari("payment", "refund", refunded).status == 0
    shown = laari("merchant", "show", merchant_id, "--json").json
    assert shown["balance"] == {"live": 10_000 - 157, "sandbox": 10_000 - 157 - 157}
    assert laari("merchant", "show", other, "--json").json["balance"] == {"live": 0, "sandbox": 0}
    assert "9843" in laari("merchant", "show", merchant_id).out


def test_a_pending_payment_is_not_refunded(laari: Laari, dsn: str) -> None:
    merchant_id = laari("merchant", "create", "Shop", "--json").json["merchant_id"]
    refused = laari("payment", "refund", make_payment(dsn, merchant_id))
    assert refused.status == 1
    assert "pending" in refused.err


def test_the_audit_ends_with_1_where_the_books_differ(laari: Laari, dsn: str) -> None:
    account = laari("customer", "create", "Aisha", "--json").json["account_number"]

    async def damage() -> None:
        async with connection_to(dsn) as connection:
            await connection.execute("UPDATE wallets SET balance = 1")

    asyncio.run(damage())
    ended = laari("audit", "--json")
    assert ended.status == 1
    report = json.loads(ended.out)
    assert report["ok"] is False
    [difference] = report["differences"]
    assert {**difference, "message": None} == {
        "kind": "wallet_balance",
        "id": account,
        "expected": "0",
        "found": "1",
        "message": None,
    }
    readable = laari("audit")
    assert readable.status == 1
    assert account in readable.out
    assert readable.err == "laari: the books do not balance: wallet_balance 1\n"


def test_people_get_lines_and_tables(laari: Laari) -> None:
    assert laari("merchant", "list").out == "None.\n"
    made = laari("merchant", "create", "Shop [blue]", "--email", "a@b.mv")
    assert made.status == 0
    lines = dict(line.split(None, 1) for line in made.out.splitlines())
    assert lines["name"] == "Shop [blue]"
    assert lines["active"] == "yes"
    listed = laari("merchant", "list").out.splitlines()
    assert listed[1].startswith(f"{lines['merchant_id']}  Shop [blue]  sandbox")
    assert laari("audit").out.endswith("The books balance.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        "merchant create ''",
        "merchant create NAME256",
        "merchant create Shop --fee-bps 10001",
        "merchant create Shop --fee-bps -1",
        "merchant create Shop --fee-bps 2.5",
        "merchant create Shop --fee-fixed 10000000000",
        "merchant create Shop --mode test",
        "merchant create Shop --email nobody",
        "merchant create Shop --webhook-url ftp://a.mv",
        "merchant create Shop --webhook-url /hook",
        "merchant create Shop --webhook-url https://u:p@a.mv",
        "merchant create Shop --webhook-url https://a.mv/#x",
        "merchant create Shop --webhook-url https://",
        "merchant create",
        "merchant show mer_unknown",
        "merchant update mer_unknown --active",
        "merchant update mer_unknown --webhooks maybe",
        "merchant rotate-key mer_unknown",
        "customer create Aisha --mobile 12",
        "customer create Aisha --email x",
        "customer create Aisha --vpa aisha@other",
        "customer create Aisha --tier platinum",
        "customer create Aisha --balance -1",
        "customer create Aisha --balance 1.5",
        "customer create Aisha --password ''",
        "wallet topup 7700000000001 0",
        "wallet topup 7700000000001 -5",
        "wallet topup 7799999999999 5",
        "wallet topup x 5",
        "wallet adjust 7700000000001 0 --reason x",
        "wallet adjust 7700000000001 5",
        "wallet adjust 7700000000001 5 --reason ''",
        "wallet adjust 7799999999999 -5 --reason x",
        "tier set Gold --daily 5",
        "tier set gold --daily -5",
        "tier set gold --daily lots",
        "payment refund pay_x",
        "payment refund pay_00000000000000000000000000000000",
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_1(laari: Laari, arguments: str) -> None:
    words = [{"''": "", "NAME256": "x" * 256}.get(word, word) for word in arguments.split()]
    ended = laari(*words, "--json")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("laari: ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("arguments", ["merchants list", "merchant lst", "tier list --all"])
def test_unknown_commands_and_options_are_status_2(laari: Laari, arguments: str) -> None:
    assert laari(*arguments.split()).status == 2
