"""Dashboard and alerts speak of what there is: every expression is PromQL, and names metrics and labels that exist; for
every alert there is a page entry that says what to do, and the other way round."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from redis_ledger import errors
from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.kafka.error_metrics import CLOSED, NAMES, OK, UNKNOWN
from redis_ledger.telemetry import exposition, transaction_metrics
from scripts import dashboard
from tests.chart import test_alerts
from tests.tidy.tree import ROOT

FILES = ROOT / "helm" / "redis-ledger" / "files"
PAGE = ROOT / "docs" / "howto" / "alerts.md"
OF_PROMETHEUS = {"up": {"job", "instance"}}
OF_EVERY_SCRAPE = {"job", "instance", "le"}  # le is checked to be a histogram's
OF_ONE_BROKER = {
    f"redis_ledger_{name}"
    for name in (
        "http_requests_running", "kafka_connections", "coordinator_waiting_operations", "overview_seconds",
        "overview_timestamp_seconds", "transaction_partition_ends_pending",
    )
}  # fmt: skip
SUFFIXES = ("_bucket", "_sum", "_count")
ROWS = ["Overview", "Topics", "Transactions", "Groups and subscriptions", "Scheduled", "Redis", "Broker"]
HTTP_OUTCOMES = {"ok", "replayed", "gone", errors.LedgerError.code, *(cls.code for cls in errors.leaves())}


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FILES / "dashboard.json").read_text())["panels"]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")


def labels_of(name: str) -> set[str] | None:
    """None: there is no such series."""
    if name in OF_PROMETHEUS:
        return OF_PROMETHEUS[name]
    for each in exposition.declared():
        if each.kind == "histogram":
            if name in {each.name + suffix for suffix in SUFFIXES}:
                return {*each.labels, *OF_EVERY_SCRAPE} - (set() if name.endswith("_bucket") else {"le"})
        elif name == each.name:
            return {*each.labels, *OF_EVERY_SCRAPE} - {"le"}
    return None


def faults(expression: str) -> list[str]:
    """What is wrong with an expression.  Raises ValueError if it is no PromQL."""
    found: list[str] = []

    def look(node: Any) -> None:
        for selector in _selectors(node):
            known = labels_of(selector.name)
            if known is None:
                found.append(f"{selector.name}: there is no such metric")
                continue
            for matcher in selector.matchers.matchers:
                if matcher.name not in known:
                    found.append(f"{selector.name} has no label {matcher.name}")
                found.extend(_values(selector.name, matcher))
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            below = [labels_of(each.name) or set() for each in _selectors_below(node.expr)]
            shared = set.intersection(*below) if below else set()
            strange = set(node.modifier.labels) - shared
            found.extend(f"nothing below has a label {label}" for label in sorted(strange))

    promql_parser.walk(promql_parser.parse(expression), look)
    return found


def _selectors(node: Any) -> list[Any]:
    return [node] if isinstance(node, promql_parser.VectorSelector) else []


def _selectors_below(node: Any) -> list[Any]:
    found: list[Any] = []
    promql_parser.walk(node, lambda each: found.extend(_selectors(each)))
    return found


def _values(name: str, matcher: Any) -> list[str]:
    """Outcomes and operations that no request can have."""
    known: set[str] = set()
    if name.startswith("redis_ledger_http_request") and matcher.name == "outcome":
        known = HTTP_OUTCOMES
    elif name.startswith("redis_ledger_http_request") and matcher.name == "operation":
        known = {each.id for each in OPERATIONS}
    elif name.startswith("redis_ledger_kafka_request") and matcher.name == "outcome":
        known = {OK, CLOSED, UNKNOWN, *NAMES}
    return [f"{name}: no {matcher.name} {value}" for value in matcher.value.split("|") if known and value not in known]


def added_up(node: Any, inside: str = "", over: str = "") -> Iterator[tuple[str, str, str]]:
    """Name, next aggregation around it and next function around it, of every series of an expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node.name or "", inside, over
    elif isinstance(node, promql_parser.MatrixSelector):
        yield from added_up(node.vector_selector, inside, over)
    elif isinstance(node, promql_parser.AggregateExpr):
        yield from added_up(node.expr, str(node.op), over)
    elif isinstance(node, promql_parser.Call):
        for each in node.args:
            yield from added_up(each, inside, node.func.name)
    elif isinstance(node, promql_parser.BinaryExpr):
        yield from added_up(node.lhs, inside, over)
        yield from added_up(node.rhs, inside, over)
    elif isinstance(node, promql_parser.ParenExpr | promql_parser.UnaryExpr | promql_parser.SubqueryExpr):
        yield from added_up(node.expr, inside, over)


def miscounts(expression: str) -> list[str]:
    """Where several brokers, or one that is started again, make another number of it."""
    gauges = {each.name for each in exposition.declared() if each.kind == "gauge"}
    counters_in_redis = {each.name for each in transaction_metrics.IN_REDIS} - gauges
    found = []
    for name, inside, over in added_up(promql_parser.parse(expression)):
        if name in gauges - OF_ONE_BROKER and inside != "max":
            found.append(f"{name}: every broker shows it, take it by max")
        elif name in counters_in_redis:
            if (inside, over in ("rate", "increase")) != ("max", True):
                found.append(f"{name}: every broker counts it in Redis, take its rate by max")
        elif name not in gauges | set(OF_PROMETHEUS) and (inside, over in ("rate", "increase")) != ("sum", True):
            found.append(f"{name}: each broker counts for itself, from 0; add up their rates")
    return found


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("sum by (topic) (max by (topic, partition) (redis_ledger_partition_end_offset))", False),
        ("sum by (topic) (redis_ledger_partition_end_offset)", True),
        ("redis_ledger_transactions_live > 5", True),
        ("sum(rate(redis_ledger_transactions_begun_total[5m]))", True),
        ("sum(max by (coordinator) (rate(redis_ledger_transactions_begun_total[5m])))", False),
        ("max by (coordinator) (redis_ledger_transactions_begun_total)", True),
        ("redis_ledger_kafka_connections", False),
        ("sum(rate(redis_ledger_kafka_refused_total[5m])) / sum(redis_ledger_http_refused_total)", True),
        ("max(rate(redis_ledger_kafka_refused_total[5m]))", True),
        ("histogram_quantile(0.9, sum by (le) (rate(redis_ledger_event_loop_lag_seconds_bucket[5m])))", False),
    ],
)
def test_what_would_count_brokers_twice_is_found(expression, wrong):
    assert bool(miscounts(expression)) == wrong


def test_no_expression_counts_twice_what_every_broker_shows_or_forgets_what_each_counted():
    wrong = {f"{title}: {expression}": miscounts(expression) for title, expression in expressions()}
    assert {at: found for at, found in wrong.items() if found} == {}


def test_a_histogram_is_declared_with_the_series_it_has():
    assert labels_of("redis_ledger_http_request_seconds_bucket") == {"operation", "job", "instance", "le"}
    assert labels_of("redis_ledger_http_request_seconds") is None


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("sum(rate(redis_ledger_no_such_total[5m]))", "redis_ledger_no_such_total: there is no such metric"),
        ('redis_ledger_partition_end_offset{group="x"}', "redis_ledger_partition_end_offset has no label group"),
        ("max by (group) (redis_ledger_partition_end_offset)", "nothing below has a label group"),
        ('redis_ledger_http_requests_total{outcome="ok|nope"}', "redis_ledger_http_requests_total: no outcome nope"),
    ],
)
def test_a_wrong_name_is_found(expression, fault):
    assert faults(expression) == [fault]


def test_what_is_no_promql_is_refused():
    with pytest.raises(ValueError, match=r".+"):
        faults("sum(rate(redis_ledger_topics[5m])")


def test_every_expression_of_dashboard_and_alerts_is_promql_about_metrics_and_labels_that_exist():
    wrong = {f"{title}: {expression}": faults(expression) for title, expression in expressions()}
    assert {at: found for at, found in wrong.items() if found} == {}
    assert len(wrong) > 50


def test_the_dashboard_has_its_rows_and_no_panel_is_empty_or_covers_another():
    assert [panel["title"] for panel in panels() if panel["type"] == "row"] == ROWS == list(dashboard.ROWS)
    drawn = [panel for panel in panels() if panel["type"] != "row"]
    assert [panel["title"] for panel in drawn if not panel["targets"]] == []
    taken = [
        (x, y)
        for panel in panels()
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_every_alert_says_what_is_wrong_how_bad_it_is_and_where_to_read_on():
    assert len(rules()) >= 15
    for rule in rules():
        notes = rule["annotations"]
        assert rule["alert"].startswith("RedisLedger"), rule
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule
        assert notes["summary"], rule
        assert notes["description"].endswith("."), rule
        assert notes["runbook_url"] == f"docs/howto/alerts.md#{rule['alert'].lower()}", rule


def test_every_alert_is_tried_where_it_fires_and_where_it_does_not():
    names = {rule["alert"] for rule in rules()}
    assert {case.alert for case in test_alerts.CASES if case.fires} == names
    assert {case.alert for case in test_alerts.CASES if not case.fires} == names


def test_what_an_alert_tells_of_a_label_is_what_its_expression_leaves():
    lost = []
    for rule in rules():
        told = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        kept: set[str] = set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"])))) - {"le"}
        if "by (" not in rule["expr"] and not re.search(r"\b(sum|max|absent)\(", rule["expr"]):
            kept = {"job", "instance"}
        lost += [f"{rule['alert']}: {label}" for label in told - kept]
    assert lost == []


def test_every_alert_has_an_entry_that_says_what_it_means_how_to_look_and_what_to_do_and_no_entry_is_left_over():
    entries = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE))
    assert sorted(entries) == sorted(rule["alert"] for rule in rules())
    parts = ("**Means.** ", "**Look.** ", "**Do.** ")
    assert [name for name, text in entries.items() if not all(part in text for part in parts)] == []
