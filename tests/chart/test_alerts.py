"""Every alert, by Prometheus itself: what makes it fire, and what looks like it and does not.

A case is a few series in promtool's notation (a value a minute), and the labels of the alerts that fire at some minute.
Clocks begin at 0, so a time stamp that is of now is 0+60x180.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

from tests.support.chart import CHART, run

ALERTS = CHART / "files" / "alerts.yaml"
RULES = {rule["alert"]: rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}
A, B = 'instance="a"', 'instance="b"'
T = 'topic="t"'


class Case(NamedTuple):
    """series: as they are shown, without `redis_ledger_` → values.  fires: the labels, one text for each that does."""

    alert: str
    why: str
    series: dict[str, str]
    fires: tuple[str, ...] = ()
    minute: int = 30


def spread(name: str, labels: str, *, fast: int, slow: int, bound: str) -> dict[str, str]:
    """A histogram that gets so many observations a minute within the bound, and above it."""
    comma = "," if labels else ""
    counts = {bound: fast, "60.0": fast + slow, "+Inf": fast + slow}
    return {f'{name}_bucket{{{labels}{comma}le="{le}"}}': f"0+{count}x60" for le, count in counts.items()}


def lag(alert: str, values: str, minute: int, *, fires: bool = False) -> Case:
    by = "group" if "Group" in alert else "subscription"
    fired = (f'{by}="x",{T}',) if fires else ()
    return Case(alert, values, one(f"{by}_lag_records", values, f'{T},{by}="x"'), fired, minute)


def one(name: str, values: str, more: str = "") -> dict[str, str]:
    """A series of one broker."""
    return {f"{name}{{{A}{',' if more else ''}{more}}}": values}


def both(name: str, values: str, more: str = "") -> dict[str, str]:
    """The same series from two brokers."""
    return {f"{name}{{{at}{',' if more else ''}{more}}}": values for at in (A, B)}


def dead(**grows: str) -> dict[str, str]:
    names = ("dead_letter", "often_redelivered", "unreadable")
    return {f"topic_{name}_records_total{{{A},{T}}}": grows.get(name, "0x60") for name in names}


def late(slow: int) -> dict[str, str]:
    return spread("delayed_lateness_seconds", f"{A},{T}", fast=90, slow=slow, bound="1.0")


def first_due(values: str) -> dict[str, str]:
    return one("delayed_first_due_timestamp_seconds", values, T)


def memory(used: str, most: str = "", at: str = A) -> dict[str, str]:
    found = {f"redis_memory_used_bytes{{{at},{N}}}": used}
    return found | ({f"redis_memory_max_bytes{{{at},{N}}}": most} if most else {})


def fragmented(ratio: str, used: str) -> dict[str, str]:
    return memory(used) | one("redis_memory_fragmentation_ratio", ratio, N)


def slow(name: str, bound: str, fast: int, slow: int, at: str = A) -> dict[str, str]:
    return spread(name, at, fast=fast, slow=slow, bound=bound)


def outcomes(name: str, outcome: str) -> dict[str, str]:
    return one(name, "0+900x60", 'outcome="ok"') | one(name, "0+30x60", f'outcome="{outcome}"')


def refused(kafka: str, http: str) -> dict[str, str]:
    return one("kafka_refused_total", kafka) | one("http_refused_total", http)


def timing_out(begun: str, timed_out: str) -> dict[str, str]:
    return both("transactions_begun_total", begun, C) | both("transactions_timed_out_total", timed_out, C)


def ends_failing(values: str) -> dict[str, str]:
    return one("transaction_partition_ends_failed_total", values, 'outcome="committed"')


def left_out(partitions: str, cursors: str) -> dict[str, str]:
    return one("partitions_unshown", partitions) | one("cursors_unshown", cursors)


UP, SEEN, LIVE = 'up{job="redis-ledger",%s}', "overview_timestamp_seconds{%s}", "kafka_brokers_live"
NOW, OLD = "0+60x60", "0+60x5 300x60"
HELD, TRIP, LOOP = "partition_stable_lag_seconds", "redis_round_trip_seconds", "event_loop_lag_seconds"
BELOW, N = f'{T},partition="0"', 'node="r"'
PENDING = "subscription_pending_ack_records"
C, S = 'coordinator="0"', f'subscription="s",{T}'
GROUP, SUBSCRIPTION = "RedisLedgerGroupLagGrows", "RedisLedgerSubscriptionLagGrows"
CASES = (
    Case("RedisLedgerBrokerDown", "one of two", {UP % A: "1x60", UP % B: "1x20 0x40"}, (f'{B},job="redis-ledger"',)),
    Case("RedisLedgerBrokerDown", "of another job", {UP % A: "1x60", 'up{job="other"}': "0x60"}),
    Case("RedisLedgerBrokerDown", "a restart", {UP % A: "1x28 0 1x30"}),
    Case("RedisLedgerNoBroker", "all down", {UP % A: "1x20 0x40", UP % B: "0x60"}, ("",)),
    Case("RedisLedgerNoBroker", "none is known", {'up{job="other"}': "1x60"}, ("",)),
    Case("RedisLedgerNoBroker", "one of two", {UP % A: "1x60", UP % B: "0x60"}),
    Case("RedisLedgerNoLeader", "they went", one(LIVE, "2x20 0x40"), ("",)),
    Case("RedisLedgerNoLeader", "there never was one", one(LIVE, "0x60")),
    Case("RedisLedgerNoLeader", "one broker sees it", {f"{LIVE}{{{A}}}": "1x60", f"{LIVE}{{{B}}}": "1x9 0x60"}),
    Case("RedisLedgerRedisUnreachable", "for all", {SEEN % A: OLD, SEEN % B: OLD}, ("",)),
    Case("RedisLedgerRedisUnreachable", "for one", {SEEN % A: NOW, SEEN % B: OLD}),
    Case("RedisLedgerBrokerWithoutRedis", "for one", {SEEN % A: NOW, SEEN % B: OLD}, (B,)),
    Case("RedisLedgerBrokerWithoutRedis", "for all", {SEEN % A: OLD, SEEN % B: OLD}),
    Case("RedisLedgerBrokerWithoutRedis", "for none", {SEEN % A: NOW, SEEN % B: NOW}),
    Case("RedisLedgerOldTransactionHoldsReaders", "old", both(HELD, NOW, BELOW), ('partition="0",topic="t"',)),
    Case("RedisLedgerOldTransactionHoldsReaders", "young", both(HELD, "200x60", BELOW)),
    Case("RedisLedgerTransactionOverdue", "not ended", both("transaction_oldest_seconds", NOW, C), (C,)),
    Case("RedisLedgerTransactionOverdue", "the longest there may be", both("transaction_oldest_seconds", "900x60", C)),
    Case("RedisLedgerTransactionsTimeOut", "one in five, by two brokers", timing_out("0+100x60", "0+20x60"), ("",)),
    Case("RedisLedgerTransactionsTimeOut", "one in twenty", timing_out("0+100x60", "0+5x60")),
    Case("RedisLedgerTransactionsTimeOut", "all five", timing_out("0x20 5x40", "0x20 5x40"), (), 24),
    Case("RedisLedgerTransactionEndsFail", "again and again", ends_failing("0+6x60"), (A,)),
    Case("RedisLedgerTransactionEndsFail", "a restart of Redis", ends_failing("0x28 40x30"), (), 35),
    Case("RedisLedgerTransactionLogGrows", "of one coordinator", both("coordinator_log_entries", "0+1000x60", C), (C,)),
    Case("RedisLedgerTransactionLogGrows", "short", both("coordinator_log_entries", "9000x60", C)),
    Case("RedisLedgerPendingAcksGrow", "many", both(PENDING, "0+20000x60", S), (S,)),
    Case("RedisLedgerPendingAcksGrow", "now and then", both(PENDING, ("200000 0x9 " * 6).strip(), S)),
    lag(GROUP, "0+1000x600", 60, fires=True),
    lag(GROUP, "0+1000x600", 540, fires=True),  # all night, though less by proportion
    lag(GROUP, "50000x600", 540),
    lag(GROUP, "900000-1000x600", 540),
    lag(GROUP, "0+100x600", 60),
    lag(GROUP, ("0+4000x9 " * 20).strip(), 180),  # who reads every ten minutes
    lag(SUBSCRIPTION, "0+1000x600", 540, fires=True),
    lag(SUBSCRIPTION, "50000x600", 540),
    Case("RedisLedgerDeadLetters", "moved", dead(dead_letter="0x20 1x40"), (T,)),
    Case("RedisLedgerDeadLetters", "again and again", dead(often_redelivered="0x20 1x40"), (T,)),
    Case("RedisLedgerDeadLetters", "unreadable", dead(unreadable="0x20 1x40"), (T,)),
    Case("RedisLedgerDeadLetters", "long ago", dead(dead_letter="0x5 7x60"), (), 40),
    Case("RedisLedgerScheduledLate", "one in ten", late(slow=10), (T,)),
    Case("RedisLedgerScheduledLate", "none", late(slow=0)),
    Case("RedisLedgerScheduledStuck", "due long ago, whatever else is scheduled", first_due("600x60"), (T,)),
    Case("RedisLedgerScheduledStuck", "nothing waits", first_due("0x60")),
    Case("RedisLedgerScheduledStuck", "due tomorrow", first_due("86400x60")),
    Case("RedisLedgerScheduledStuck", "being worked off", first_due("0+50x60")),
    Case("RedisLedgerRedisMemoryHigh", "nine tenths", memory("90x60", "100x60"), (N,)),
    Case("RedisLedgerRedisMemoryHigh", "half, twice", memory("50x60", "100x60") | memory("50x60", "100x60", B)),
    Case("RedisLedgerRedisMemoryHigh", "without a limit", memory("90x60")),
    Case("RedisLedgerRedisMemoryFragmented", "a large one", fragmented("2x60", "2000000000x60"), (N,), 45),
    Case("RedisLedgerRedisMemoryFragmented", "a small one", fragmented("9x60", "2000000x60"), (), 45),
    Case("RedisLedgerRedisAppendOnlyOff", "off", both("redis_append_only", "1x20 0x40", N), (N,)),
    Case("RedisLedgerRedisAppendOnlyOff", "unknown", both("redis_append_only", "-1x60", N)),
    Case(
        "RedisLedgerRedisUnfit", "empty", {f'redis_unfit{{{N},reason="empty"}}': "0x20 1x40"}, (f'{N},reason="empty"',)
    ),
    Case("RedisLedgerRedisUnfit", "fit", {f'redis_unfit{{{N},reason="empty"}}': "0x60"}),
    Case("RedisLedgerRedisRolledBack", "older", {f'redis_lost_writes_total{{{A},kind="other"}}': "0x20 2x40"}, ("",)),
    Case("RedisLedgerRedisRolledBack", "as it was", {f'redis_lost_writes_total{{{A},kind="other"}}': "2x60"}),
    Case("RedisLedgerDurabilityUnknown", "unknown", both("redis_append_only", "-1x60", N), (N,)),
    Case("RedisLedgerDurabilityUnknown", "on", both("redis_append_only", "1x60", N)),
    Case("RedisLedgerRedisRoundTripSlow", "one in ten", slow(TRIP, "0.05", 90, 10), (A,)),
    Case("RedisLedgerRedisRoundTripSlow", "one in a thousand", slow(TRIP, "0.05", 9990, 10)),
    Case("RedisLedgerEventLoopLag", "one of two", slow(LOOP, "0.25", 90, 10) | slow(LOOP, "0.25", 900, 0, B), (A,)),
    Case("RedisLedgerEventLoopLag", "now and then", slow(LOOP, "0.25", 240, 1)),
    Case("RedisLedgerCoordinatorQueue", "long", one("coordinator_waiting_operations", "1500x60"), (A,)),
    Case("RedisLedgerCoordinatorQueue", "two short ones", both("coordinator_waiting_operations", "600x60")),
    Case("RedisLedgerHighErrorRate", "ours", outcomes("http_requests_total", "store_timeout"), ("",)),
    Case("RedisLedgerHighErrorRate", "the caller's", outcomes("http_requests_total", "invalid_request")),
    Case("RedisLedgerHighKafkaErrorRate", "ours", outcomes("kafka_requests_total", "request_timed_out"), ("",)),
    Case("RedisLedgerHighKafkaErrorRate", "usual", outcomes("kafka_requests_total", "not_coordinator")),
    Case("RedisLedgerConnectionsRefused", "many by one door", refused("0+20x60", "0x60"), (A,)),
    Case("RedisLedgerConnectionsRefused", "some by both", refused("0+3x60", "0+3x60")),
    Case("RedisLedgerOpenBroker", "as two brokers tell", both("brokers_open", "0x20 1x40"), ("",)),
    Case(
        "RedisLedgerClockSkewed",
        "one is behind",
        both("clock_skew_seconds", "0x60") | one("clock_skew_seconds", "-11x60"),
        (A,),
    ),
    Case("RedisLedgerClockSkewed", "both differ a little", both("clock_skew_seconds", "9x60")),
    Case("RedisLedgerOpenBroker", "none", both("brokers_open", "0x60")),
    Case("RedisLedgerSeriesLeftOut", "cursors", left_out("0x90", "5x90"), ("",), 80),
    Case("RedisLedgerSeriesLeftOut", "none", left_out("0x90", "0x90"), (), 80),
)


def asked(case: Case) -> dict[str, object]:
    named = {name if name.startswith("up{") else f"redis_ledger_{name}": values for name, values in case.series.items()}
    severity = RULES[case.alert]["labels"]["severity"]
    own = f'alertname="{case.alert}",alertstate="firing",severity="{severity}"'
    fires = [{"labels": f"ALERTS{{{own}{',' if labels else ''}{labels}}}", "value": 1} for labels in case.fires]
    expression = f'ALERTS{{alertname="{case.alert}",alertstate="firing"}}'
    return {
        "name": f"{case.alert}: {case.why}",
        "interval": "1m",
        "input_series": [{"series": series, "values": values} for series, values in named.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": f"{case.minute}m", "exp_samples": fires}],
    }


def test_prometheus_accepts_the_rules():
    checked = run("promtool", "check", "rules", ALERTS)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(RULES)} rules found" in checked.stdout


def test_alerts_fire_only_when_they_should(tmp_path):
    file = tmp_path / "cases.yaml"
    cases = [asked(case) for case in CASES]
    file.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": cases}))
    tested = run("promtool", "test", "rules", file)
    assert tested.returncode == 0, tested.stdout + tested.stderr
