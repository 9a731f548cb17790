from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import redis_ledger
from redis_ledger import Client, errors
from redis_ledger.app.cli import consume, main, output
from redis_ledger.client.models import Message
from tests.tidy.tree import ROOT


def run(*words: str, given: bytes = b"") -> SimpleNamespace:
    result = CliRunner().invoke(main.app, list(words), input=given)
    return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)


def test_help_names_every_command_and_loads_none_of_them():
    probe = (
        "import sys; sys.argv = ['redis-ledger', '--help']\n"
        "from redis_ledger.app.cli.main import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "heavy = ('redis_ledger.app.cli.', 'httpx', 'fastapi', 'redis_ledger.client')\n"
        "print([m for m in sys.modules if m.startswith(heavy)])"
    )
    seen = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [name for name in main.COMMANDS if name not in seen] == []
    assert seen.splitlines()[-1] == "['redis_ledger.app.cli.main']"


@pytest.mark.parametrize("name", main.COMMANDS)
def test_help_summary_equals_the_command_docstring(name):
    module, attribute, summary = main.COMMANDS[name]
    found = getattr(import_module(f"redis_ledger.app.cli.{module}"), attribute)
    said = found.info.help if hasattr(found, "info") else found.__doc__.strip().splitlines()[0]
    assert said == summary


def words_of(command, *before):
    """Yields all commands, including groups."""
    yield before
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from words_of(command.get_command(None, name), *before, name)


# What follows `pipeline NAME` belongs to programs that have a help of their own.
OURS = [words for words in words_of(typer.main.get_command(main.app)) if words[:1] != ("pipeline",) or len(words) == 1]


@pytest.mark.parametrize("words", OURS, ids=" ".join)
def test_help_is_complete_at_eighty_columns(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*words, "--help")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "…" not in shown.out
    assert not re.search(r"\w\.\.\.$", shown.out, re.MULTILINE)
    assert "completion" not in shown.out or words == ()


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("srve",), "'serve'"), (("topics", "creat"), "'create'"), (("serve", "--htp", "x"), "--http")],
)
def test_misspelt_command_gets_a_suggestion(words, meant):
    wrong = run(*words)
    assert (wrong.code, wrong.out) == (2, "")
    assert meant in wrong.err
    assert "│" not in wrong.err


def test_topics_are_printed_as_table_and_json(stub):
    assert run("topics", "create", "orders", "--partitions", "3").out == "orders: 1 partition\n"
    assert json.loads(run("topics", "describe", "orders", "--json").out)["name"] == "orders"


def test_offloaded_offset_is_shown(stub):
    stub.partition_states = [
        {"partition": 0, "start_offset": 1, "cold_offset": 20, "stable_offset": 30, "end_offset": 31}
    ]
    lines = [re.findall(r"\w+", line)[:5] for line in run("topics", "describe", "orders").out.splitlines()]
    assert ["partition", "start", "offloaded", "stable", "end"] in lines
    assert ["0", "1", "20", "30", "31"] in lines


def test_delete_without_a_terminal_needs_yes(stub):
    refused = run("topics", "delete", "orders")
    assert (refused.code, stub.calls) == (2, [])
    assert "--yes" in refused.err
    assert run("topics", "delete", "orders", "--yes").code == 0


def test_alter_without_options_is_a_usage_error(stub):
    assert run("topics", "grow", "orders").code == 2


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--retention-ms", "0", "--retention-acknowledged"], {"retention_ms": 0, "retention_acknowledged": True}),
        (["--no-retention-acknowledged"], {"retention_acknowledged": False}),
        (["--retention-bytes", "-1"], {"retention_bytes": -1}),
    ],
)
def test_retention_can_be_set_and_changed(stub, words, settings):
    for command in ("create", "grow"):
        run("topics", command, "orders", *words)
        assert stub.bodies[-1]["settings"] == settings


def test_an_error_is_one_sentence_and_exit_code_one(stub):
    stub.fail("GET", "/orders", errors.UnknownTopic("Topic 'orders' does not exist.", topic="orders"))
    result = run("topics", "describe", "orders")
    assert (result.code, result.out, result.err) == (1, "", "redis-ledger: Topic 'orders' does not exist.\n")


def test_an_error_for_programs_is_a_problem_on_stderr(stub):
    stub.fail("GET", "/orders", errors.UnknownTopic("Topic 'orders' does not exist.", topic="orders"))
    result = run("topics", "describe", "orders", "--json")
    problem = json.loads(result.err)
    assert (result.code, result.out) == (1, "")
    assert (problem["code"], problem["topic"], problem["status"]) == ("unknown_topic", "orders", 404)


def test_no_broker_at_the_address_is_exit_code_two(monkeypatch):
    monkeypatch.setattr("redis_ledger.app.cli.output.TIMEOUT_MS", 50)
    monkeypatch.setattr(redis_ledger, "Client", lambda urls, **more: Client(urls, timeout_ms=50), raising=False)
    result = run("topics", "list", "--url", "http://127.0.0.1:1")
    assert result.code == 2
    assert "reached no broker" in result.err
    assert "http://127.0.0.1:1." in result.err
    problem = json.loads(run("topics", "list", "--url", "http://127.0.0.1:1", "--json").err)
    assert (problem["code"], "http://127.0.0.1:1." in problem["detail"]) == ("unavailable", True)


def test_invalid_address_is_a_usage_error():
    result = run("topics", "list", "--url", "localhost")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("redis-ledger: 'localhost' is not the address of a broker")


def test_lines_become_records(stub):
    result = run("produce", "orders", "--json", given=b"one\ntwo\n\n")
    assert [record.value for _, _, record in stub.records] == [b"one", b"two", b""]
    assert json.loads(result.out)["records"] == 3


def test_keys_are_cut_off_at_the_first_separator(stub):
    run("produce", "orders", "--key-separator", ":", given=b"a:b:c\n")
    [(_, _, record)] = stub.records
    assert (record.key, record.value) == (b"a", b"b:c")


def test_lines_are_written_in_transactions_of_n(stub):
    result = run("produce", "orders", "--transaction", "4", "--json", given=b"x\n" * 10)
    assert stub.txns == {}  # each one is one batch of one partition
    assert [sequence for window in stub.seen.values() for sequence in window if sequence >= 0] == [0, 4, 8]
    assert len(stub.records) == 10
    assert json.loads(result.out)["transactions"] == 3


def test_invalid_line_is_reported_with_the_written_count(stub):
    result = run("produce", "orders", "--json-lines", "--transaction", "1", given=b'{"value": 1}\n{"value"\n')
    assert result.code == 1
    assert "Line 2 cannot be read" in result.err
    assert result.out.startswith("1 record to orders in 1 transaction")


@pytest.mark.parametrize("repeated", [(), (("h", b"1"), ("b", b""))])
def test_produce_reads_the_json_of_consume(stub, repeated):
    headers = (("h", b"v"), ("b", b"\xff"), ("n", None), *repeated)
    message = Message("orders", 0, 3, b"k", b'{"a": 1}', dict(headers), 17, headers)
    line = json.dumps(consume.to_json(message), default=lambda raw: json.loads(bytes(raw)))
    run("produce", "copy", "--json-lines", given=line.encode() + b"\n")
    [(topic, _, record)] = stub.records
    assert (topic, record.key, json.loads(record.value), record.timestamp_ms) == ("copy", b"k", {"a": 1}, 17)
    assert sorted(record.headers, key=str) == sorted(headers, key=str)
    assert not repeated or tuple(record.headers) == headers


@pytest.mark.parametrize("value", [b'{"a": 1}', b" 1", b"1\n", b"null", b"plain", b"\xff", None, b"", b"[" * 5000])
def test_printed_value_can_be_decoded_to_its_bytes(stub, value):
    import msgspec

    line = msgspec.json.encode(consume.to_json(Message("orders", 0, 3, None, value, {}, 17)))
    assert b"\n" not in line
    assert run("produce", "copy", "--json-lines", given=line + b"\n").code == 0
    [(_, _, record)] = stub.records
    assert record.value == value


def test_consuming_a_subscription_prints_and_acknowledges(stub):
    stub.add_messages("a", {"b": 1}, "c")
    result = run("consume", "orders", "--subscription", "billing", "--max", "2")
    assert result.out == '"a"\n{"b": 1}\n'
    assert stub.acked == ["0:0", "0:1"]
    assert stub.leased == {}


@pytest.mark.parametrize("wanted", [500, 501, 700, 1_000])
def test_no_more_than_max_are_printed_and_acknowledged(stub, wanted):
    """Also of several receives, and of what is fetched ahead."""
    stub.add_messages(*range(1_000))
    result = run("consume", "orders", "--subscription", "s", "--max", str(wanted))
    assert result.out.splitlines() == [str(n) for n in range(wanted)]
    assert stub.acked == [f"0:{n}" for n in range(wanted)]
    assert stub.leased == {}  # the others are returned


@pytest.mark.parametrize(
    "words",
    [
        ("--subscription", "s", "--partition", "0"),
        ("--offset", "17"),
        ("--offset", "yesterday"),
        ("--kind", "exclusive"),
        ("--key-separator", ":", "--json"),
    ],
)
def test_conflicting_options_are_a_usage_error(stub, words):
    assert run("consume", "orders", *words).code == 2
    assert stub.calls == []


def test_ending_a_transaction_prints_its_status(stub):
    run("topics", "list")
    with Client("http://b", http=stub) as client:
        first, second = client.transactions.begin().id, client.transactions.begin().id
    assert run("txns", "commit", first).out == f"{first}: committed\n"
    assert json.loads(run("txns", "abort", second, "--json").out) == {"id": second, "status": "aborted"}
    assert run("txns", "abort", first).code == 1
    assert run("txns", "show", "nonsense").code == 1


def test_raw_output_contains_the_bytes(stub, monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    show = consume._printer("raw", None)
    show(Message("orders", 0, 3, None, b"\xff\x00", {}, 17))
    assert out.getvalue() == b"\xff\x00\n"


def test_quota_texts_mention_the_limit_per_broker():
    problem = {
        "command": re.sub(r"[\s│]+", " ", run("quotas", "set", "--help").out),
        "REST": (ROOT / "docs/reference/rest.md").read_text(),
        "console": (ROOT / "app/console/templates/access.html").read_text(),
        "guide": (ROOT / "docs/howto/tls-and-quotas.md").read_text(),
    }
    assert [where for where, text in problem.items() if "three times" not in text] == []


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "create", "--json"),
        ("topics", "create", "orders", "--partitions", "many", "--json"),
        ("topics", "absent", "--json"),
        ("absent", "--json"),
        ("consume", "orders", "--offset", "17", "--json"),
        ("txns", "list", "--min-age", "5 days", "--json"),
    ],
)
def test_usage_error_is_a_json_problem_with_json_option(stub, words):
    wrong = run(*words)
    problem = json.loads(wrong.err)
    assert (wrong.code, wrong.out, problem["code"]) == (2, "", "usage")
    assert problem["detail"]


def test_one_key_may_be_given_to_all_lines(stub):
    assert run("produce", "orders", "--key", "alice", given=b"one\ntwo\n").code == 0
    assert [(record.key, record.value) for _, _, record in stub.records] == [(b"alice", b"one"), (b"alice", b"two")]
    assert run("produce", "orders", "--key", "alice", "--key-separator", ":", given=b"a:b\n").code == 2


def test_an_age_is_a_duration(stub, monkeypatch):
    asked: list[Any] = []

    def listed(self: object, *given: Any, **_: Any) -> list[Any]:
        asked.append(given)
        return []

    monkeypatch.setattr("redis_ledger.client._sync.admin.Transactions.list", listed)
    for age in ("5m", "PT5M", "300000"):
        run("txns", "list", "--min-age", age)
    assert [given[1] for given in asked] == [300_000] * 3


def test_heading_wraps_between_words_at_80_columns(stub, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    offsets = {"start_offset": 123_456, "cold_offset": 0, "stable_offset": 1_234_567, "end_offset": 1_234_567}
    stub.partition_states = [{"partition": 0, **offsets, "bytes": 12_345_678}]
    lines = run("topics", "describe", "orders").out.splitlines()
    words = {word for line in lines for word in re.findall(r"\w+", line)}
    assert {"partition", "stable", "ledgers", "open", "transactions", "1234567", "12345678"} <= words


def test_progress_bar_is_removed_before_the_summary(stub, monkeypatch):
    said = []

    @contextlib.contextmanager
    def bar(*_):
        yield lambda size, number: None
        said.append("gone")

    monkeypatch.setattr("redis_ledger.app.cli.produce._progress", bar)
    monkeypatch.setattr("redis_ledger.app.cli.produce._sum_up", lambda *_: said.append("summary"))
    assert run("produce", "orders", given=b"one\n").code == 0
    assert said == ["gone", "summary"]


def test_advice_names_commands(stub):
    detail = "Topic 'orders' does not exist; create it with POST /v1/topics."
    stub.fail("GET", "/orders", errors.UnknownTopic(detail, topic="orders"))
    assert "create it with `redis-ledger topics create`." in run("topics", "describe", "orders").err
    assert "`redis-ledger txns list`" in run("txns", "show", "nonsense").err


def test_rest_advice_has_a_command_equivalent():
    advice = re.compile(r"[^.;,\"(]*\b(?:POST|GET|PATCH|DELETE) /v1[^\s.,\"]*(?: returned)?")
    files = [
        *(ROOT / "redis_ledger" / "ledger").glob("*.py"),
        *(ROOT / "redis_ledger" / "cursor").glob("*.py"),
        ROOT / "redis_ledger" / "ids.py",
    ]
    found = {
        each.strip().replace("{{", "{").replace("}}", "}")
        for path in files
        for each in advice.findall(path.read_text())
    }
    assert found == set(output.COMMANDS_OF_CALLS)
