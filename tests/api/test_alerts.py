"""The alert rules and the dashboard for Grafana name only metrics that exist."""

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
import yaml  # which schemathesis brings

from laari.rules import health
from laari.store.postgres.pool import connection_to
from laari.store.reads.health import unsealed_seconds
from tests.audit.books import seal_all, write_books
from tests.serving import Service, serving

FOLDER = Path(__file__).parents[2] / "packaging"
METRIC = re.compile(r"\blaari_[a-z_]+")
PARTS = ("_bucket", "_sum", "_count")


def expressions() -> dict[str, list[str]]:
    rules = re.findall(r"expr: (.+)", (FOLDER / "alerts.yml").read_text())
    panels = json.loads((FOLDER / "grafana.json").read_text())["panels"]
    drawn = [target["expr"] for panel in panels for target in panel["targets"]]
    return {"alerts.yml": rules, "grafana.json": drawn}


@pytest.mark.ci
def test_every_metric_that_is_named_exists(dsn: str, tmp_path: Path) -> None:
    asyncio.run(write_books(dsn))
    asyncio.run(seal_all(dsn, 10_000))
    with serving(dsn, tmp_path) as service:
        _note(service)
        httpx.get(f"{service.origin}/merchant/payments")
        told = httpx.get(service.metrics_url).text
    known = set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE))
    for file, lines in expressions().items():
        assert len(lines) >= 10
        named = {name for line in lines for name in METRIC.findall(line)}
        bare = {re.sub(f"({'|'.join(PARTS)})$", "", name) for name in named}
        assert bare - known == set(), file
    page = (FOLDER.parent / "docs/operations.md").read_text()
    documented = {*METRIC.findall(page.partition("\n## Metrics\n")[2].partition("\n## ")[0])}
    assert known - documented == set()
    assert documented - known <= {"laari_kept_seal_info"}, "which needs a seal of an earlier hour"


async def test_the_ledger_waits_for_a_seal_also_without_webhooks(dsn: str) -> None:
    async def waited() -> float:
        async with connection_to(dsn) as connection:
            return await unsealed_seconds(connection)

    assert await waited() == 0
    await write_books(dsn)
    assert 0 < await waited() < 60
    await seal_all(dsn, 10_000)
    assert await waited() == 0
    assert "laari_unsealed_oldest_seconds > 3600" in expressions()["alerts.yml"]


def _note(service: Service) -> None:
    service.execute(
        "UPDATE installation SET last_backup_at = now(), last_audit_at = now(), "
        "last_audit_ok = true"
    )


def test_prometheus_can_read_every_rule() -> None:
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 15
    for rule in rules:
        assert set(rule) - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert rule["labels"] in ({"severity": "page"}, {"severity": "ticket"})
        [(name, summary)] = rule["annotations"].items()
        assert (name, summary[-1]) == ("summary", "."), rule["alert"]


def test_the_rules_have_the_limits_of_the_page_health() -> None:
    rules = "\n".join(expressions()["alerts.yml"])
    for metric, limit in (
        ("webhooks_oldest_seconds", f"{health.LATE}"),
        ("messages_oldest_seconds", f"{health.LATE}"),
        ("last_audit_age_seconds", f"{health.AUDIT_AGE.days} * 86400"),
        ("last_backup_age_seconds", f"{health.BACKUP_AGE.days} * 86400"),
    ):
        assert f"laari_{metric} > {limit}\n" in f"{rules}\n"


def test_every_alert_that_the_documentation_names_is_a_rule() -> None:
    rules = set(re.findall(r"alert: (\w+)", (FOLDER / "alerts.yml").read_text()))
    pages = [page.read_text() for page in (FOLDER.parent / "docs").rglob("*.md")]
    assert not any("expr:" in page for page in pages), "packaging/alerts.yml has all rules"
    named = {name for page in pages for name in re.findall(r"`(Laari[A-Z][a-zA-Z]+)`", page)}
    assert named
    assert named - rules == set()
