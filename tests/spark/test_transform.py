"""Running a query from topics into a topic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redis_ledger import Client
from redis_ledger.spark.pipelines import transform
from redis_ledger.spark.pipelines.arguments import connection_of

INVOICES = """
-- What each order comes to, in euros; 'semicolons; in texts' stay.
with priced as (
    select key, from_json(value_text, 'item string, count int') o from orders
)
select priced.key,
       to_json(struct(o.item, o.count * from_json(rates.value_text, 'price int').price as total)) as value,
       array(named_struct('key', 'source', 'value', encode('semicolons; in texts', 'utf-8'))) as headers,
       0 as partition
from priced join rates on rates.key_text = o.item   -- each item has one
where o.count > 0;
"""


@pytest.fixture
def run(url: str, name: str, capsys, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs a query into the topic `name`-out; returns the exit code, and stderr."""

    def call(sql: str, *arguments: str) -> tuple[int, str]:
        (tmp_path / "query.sql").write_text(sql)
        base = ["--bootstrap", url, "--sql", str(tmp_path / "query.sql"), "--output", f"{name}-out"]
        code = transform.main([*base, *arguments])
        return code, capsys.readouterr().err

    return call


@pytest.fixture
def inputs(client: Client, name: str) -> str:
    """Writes orders to two partitions and rates to one; the output has two as well."""
    for topic, partitions in (("orders", 2), ("rates", 1), ("out", 2)):
        client.topics.create(f"{name}-{topic}", partitions=partitions)
    with client.producer(f"{name}-rates") as producer:
        for item, price in (("tea", 3), ("cake", 5)):
            producer.send({"price": price}, key=item)
    order(client, name, 0, 20)
    return f"orders={name}-orders,rates={name}-rates"


def order(client: Client, name: str, first: int, end: int) -> None:
    with client.producer(f"{name}-orders") as producer:
        for n in range(first, end):
            producer.send({"item": ("tea", "cake", "hat")[n % 3], "count": n % 4}, key=f"order-{n}")


def expected(first: int, end: int) -> list[tuple[bytes, str]]:
    return sorted(
        (f"order-{n}".encode(), f'{{"item":"{item}","total":{n % 4 * price}}}')
        for n in range(first, end)
        for item, price in (("tea", 3), ("cake", 5))
        if ("tea", "cake", "hat")[n % 3] == item and n % 4
    )


def seen(client: Client, name: str) -> list[tuple[Any, str]]:
    return sorted((m.key, m.text()) for number in (0, 1) for m in client.read(f"{name}-out", number))


def test_a_query_over_two_topics_is_written_once(spark, client, name, run, inputs):
    # When a join is run as a batch
    code, output = run(INVOICES, "--input", inputs)
    # Then its columns are records
    assert code == 0, output
    assert seen(client, name) == expected(0, 20)
    assert list(client.read(f"{name}-out", 1)) == []
    assert {m.headers["source"] for m in client.read(f"{name}-out", 0)} == {b"semicolons; in texts"}
    assert f"{len(expected(0, 20))} records" in output
    # And only once, even if there are more records now
    order(client, name, 20, 30)
    code, output = run(INVOICES, "--input", inputs)
    assert (code, "this job is done" in output) == (0, True)
    assert seen(client, name) == expected(0, 20)
    # And a job of another name reads all records
    assert run(INVOICES, "--input", inputs, "--name", "again")[0] == 0
    assert seen(client, name) == sorted(expected(0, 20) + expected(0, 30))


EACH = "select key, value, timestamp from o"


def test_runs_with_a_subscription_continue_and_commit_their_offsets(spark, client, name, run, inputs):
    arguments = ["--input", f"o={name}-orders", "--commit-subscription", "etl", "--name", "each", "--keep-timestamps"]
    stamps = {m.timestamp_ms for number in (0, 1) for m in client.read(f"{name}-orders", number)}
    for end in (20, 35):
        # When records are added, and another run follows
        order(client, name, 20, end)
        code, output = run(EACH, *arguments)
        # Then only they are added, and the offsets are committed
        assert code == 0, output
        assert [key for key, _ in seen(client, name)] == sorted(f"order-{n}".encode() for n in range(end))
        stats = client.subscriptions.stats(f"{name}-orders", "etl")
        assert (stats.kind, stats.backlog, stats.pending) == ("kafka", 0, 0)
    assert stamps < {m.timestamp_ms for number in (0, 1) for m in client.read(f"{name}-out", number)}
    code, output = run(EACH, *arguments)
    assert (code, "no records have arrived since 'etl' was committed" in output) == (0, True)


def test_two_drivers_commit_a_step_once(spark, client, name, url, inputs, tmp_path):
    # Given two runs that have both read their start
    (tmp_path / "each.sql").write_text(EACH)
    where = ["--input", f"o={name}-orders", "--output", f"{name}-out", "--commit-subscription", "etl"]
    given = transform.arguments_of(["--bootstrap", url, "--sql", str(tmp_path / "each.sql"), *where])
    reached = connection_of(given)
    first, second = (transform.step_of(client, given, reached, EACH) for _ in range(2))
    assert first is not None
    assert first == second
    # When both write the step
    for step in (first, second):
        transform.batch(spark, given, reached, EACH, step)
    # Then one has committed it
    assert len(seen(client, name)) == 20
    assert client.transactions.list("open", owner="transform") == []
    assert transform.step_of(client, given, reached, EACH) is None


def test_a_stream_continues_from_its_checkpoint_and_commits_its_offsets(spark, client, name, run, inputs, tmp_path):
    arguments = [
        "--input", f"o={name}-orders", "--stream", "--checkpoint", str(tmp_path / "checkpoint"), "--trigger",
        "available-now", "--commit-subscription", "etl",
    ]  # fmt: skip
    sql = "select key, upper(value_text) value from o where partition = 1 -- half of it"
    for end in (20, 30):
        order(client, name, 20, end)
        code, output = run(sql, *arguments)
        assert code == 0, output
        source = list(client.read(f"{name}-orders", 1))
        assert seen(client, name) == sorted((m.key, m.text().upper()) for m in source)
        assert client.subscriptions.stats(f"{name}-orders", "etl").cursors[1].backlog == 0


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select key from o", "query.sql has no column value, only key;"),
        ("select 1 value from o", "The column value is int; expected binary or string."),
        ("-- one\nselect valu value\nfrom o", "query.sql, line 2, column 8: A column, variable, or function parameter"),
        ("-- one\nselect value\nfrom other", "query.sql, line 3, column 6: The table or view `other` cannot be found."),
        ("select value from o where offset >", "query.sql ends too early"),
        ("select value frm o, o", "query.sql, line 1, column 18: Syntax error at or near 'o'."),
        ("drop view o", "query.sql, line 1, column 11: Syntax error at or near 'o'."),
        ("select value from o; select value from o", "query.sql, line 1, column 20: Syntax error at or near ';'."),
        ("select cast(raise_error('no such order') as string) value from o", "no such order"),
    ],
)
def test_an_error_of_a_query_is_one_sentence_with_its_position(spark, client, name, run, inputs, sql, message):
    code, output = run(sql, "--input", f"o={name}-orders")
    assert code == 1
    assert message in output
    assert [line for line in output.splitlines() if line.startswith("transform: ")] == output.splitlines()[-1:]
    assert seen(client, name) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "a b"], "'a b' is not a valid name in SQL"),
        (["--input", "a", "--stream"], "--stream and --checkpoint go together"),
        (["--input", "a", "--trigger", "10s"], "--trigger and --output-mode are for streams"),
        (["--input", "a", "--stream", "--checkpoint", "/c", "--trigger", "often"], "'often' is not a duration"),
        (["--input", "a", "--stream", "--checkpoint", "/c", "--name", "n"], "--to-time and --name are for batch jobs"),
    ],
)
def test_invalid_arguments_are_refused_before_any_request(capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        transform.main(["--sql", "q.sql", "--output", "b", *arguments])
    assert (ended.value.code, message in capsys.readouterr().err) == (2, True)


def test_missing_inputs_and_files_are_reported(client, name, run, url, capsys):
    code, output = run("select value from o", "--input", "o=nowhere")
    assert (code, "Topic 'nowhere' does not exist" in output) == (1, True)
    assert transform.main(["--bootstrap", url, "--sql", "/no/such.sql", "--input", "o=nowhere", "--output", "b"]) == 1
    assert "/no/such.sql cannot be read" in capsys.readouterr().err
