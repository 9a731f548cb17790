"""The format of log lines, and what they must not contain."""

from __future__ import annotations

import io
import json
import logging

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.telemetry import logs


class Commit:
    def log_fields(self) -> dict[str, str]:
        return {"operation": "commit", "request_id": "r-1", "txn": "3-17", "principal": ""}


@pytest.fixture
def stream():
    stream = io.StringIO()
    logs.configure(stream=stream)
    yield stream
    logs.current_request.set(None)
    logs.configure("warning")


def test_log_line_has_request_fields_without_overwriting_its_own(stream):
    logs.current_request.set(Commit())
    logs.get().warning("slow", txn="5-1", took_ms=20)
    line = json.loads(stream.getvalue())
    assert line["event"] == "slow"
    assert (line["operation"], line["request_id"], line["txn"], line["took_ms"]) == ("commit", "r-1", "5-1", 20)
    assert "principal" not in line


def test_without_a_request_a_line_has_time_level_and_event(stream):
    logs.get().info("stopping")
    assert sorted(json.loads(stream.getvalue())) == ["event", "level", "time"]


def test_text_is_for_people_and_has_the_same_fields():
    stream = io.StringIO()
    logs.configure(stream=stream, shape="text")
    logs.get().warning("request failed", topic="orders", partition=3)
    (line,) = stream.getvalue().splitlines()
    assert "request failed" in line
    assert "topic=orders" in line
    assert "partition=3" in line
    logs.configure("warning")


def test_library_logs_are_formatted_like_others(stream):
    logs.configure("info", stream, whole_process=True)
    try:
        logging.getLogger("redis_ledger.store").error("Redis at %s is gone", "redis://:hunter22@db:6379")
    finally:
        logging.basicConfig(handlers=[logging.NullHandler()], force=True)
    line = json.loads(stream.getvalue())
    assert (line["level"], line["library"]) == ("error", "redis_ledger.store")
    assert line["event"] == "Redis at redis://***@db:6379 is gone"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://user:hunter22@db:6379/0", "redis://***@db:6379/0"),
        ("at rediss://:p%40ss@db/1?x=1 and more", "at rediss://***@db/1?x=1 and more"),
        ("Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2ln", "Authorization: ***"),
        ("bearer rl_ab12_0123456789abcdef", "bearer ***"),
        ("token rl_ab12_0123456789abcdef was refused", "token rl_ab12_*** was refused"),
        ("{'password': 'hunter22'}", "{'password': '***'}"),
        ("http://127.0.0.1:8080/v1 and mail@example.com", "http://127.0.0.1:8080/v1 and mail@example.com"),
        ("the secret of a good day", "the secret of a good day"),
    ],
)
def test_secrets_are_redacted(text, shown):
    assert logs.without_secrets(text) == shown


def test_secrets_are_blotted_out_of_events_fields_nested_ones_and_traces(stream):
    url = "redis://:hunter22@db:6379"
    try:
        raise ConnectionError(f"cannot reach {url}")
    except ConnectionError as error:
        logs.get().error(f"lost {url}", seeds=[url], facts={"url": url}, exc_info=error, took_ms=3)
    assert "hunter22" not in stream.getvalue()
    assert json.loads(stream.getvalue())["took_ms"] == 3


def test_flood_of_one_event_logs_one_line_a_second_with_a_count(stream, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("redis_ledger.telemetry.logs.time.monotonic", lambda: now[0])
    seldom = logs.RateLimitedLog()
    for peer in range(50):
        seldom.warning("closed", peer=peer)
    seldom.error("broken")
    now[0] += 1.0
    seldom.warning("closed", peer=50)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["level"], line.get("peer"), line.get("unsaid")) for line in lines] == [
        ("closed", "warning", 0, None), ("broken", "error", None, None), ("closed", "warning", 50, 49),
    ]  # fmt: skip


def test_known_failures_log_one_sentence_and_bugs_log_a_trace(stream):
    logs.RateLimitedLog().failed("not done yet", StoreUnavailable("Redis is away."), topic="t")
    logs.RateLimitedLog().failed("not done yet", ValueError("what is this"), topic="t")
    known, ours = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (known["level"], known["error"], "trace" in known) == ("warning", "Redis is away.", False)
    assert (ours["level"], ours["error"], ours["topic"]) == ("error", "ValueError: what is this", "t")
    assert ours["trace"].endswith("ValueError: what is this\n")
