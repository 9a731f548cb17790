"""Spark and a broker with authentication, over https with a certificate authority of its own."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException

from redis_ledger.spark.pipelines import compact, offload, reconcile, replay, transform
from redis_ledger.spark.pipelines.arguments import sentence_of
from tests.spark.secured import Rule, Secured
from tests.support.certificates import Authority

REFUSED = (AnalysisException, PySparkException, StreamingQueryException)


@pytest.fixture
def world(secured: Secured) -> Secured:
    return secured


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    return tmp_path / "token"


@pytest.fixture
def reached(world: Secured, token_file: Path) -> dict[str, str]:
    """Options of a job with a token file."""
    return {"bootstrap": world.url, "caFile": world.ca, "tokenFile": str(token_file)}


def reading(spark: Any, options: dict[str, str], topic: str) -> Any:
    return spark.read.format("redis-ledger").options(**options, topics=topic).load()


def write(spark: Any, options: dict[str, str], topic: str, **more: str) -> None:
    frame = spark.createDataFrame([("a",), ("b",)], "value string").coalesce(1)
    frame.write.format("redis-ledger").options(**{**options, "topic": topic, **more}).mode("append").save()


def stream(spark: Any, options: dict[str, str], source: str, sink: str, checkpoint: Path, **trigger: Any) -> Any:
    read = spark.readStream.format("redis-ledger").options(**options, topics=source, startingOffsets="earliest").load()
    writer = read.select("value").writeStream.format("redis-ledger").options(**options, topic=sink)
    writer = writer.option("checkpointLocation", str(checkpoint)).option("commitSubscription", sink)
    return writer.trigger(**trigger).start()


def streaming(source: str, sink: str) -> tuple[Rule, ...]:
    """The rules that `stream` needs."""
    return (
        ("READ", "TOPIC", source), ("WRITE", "TOPIC", sink), ("READ", "GROUP", sink),
        ("WRITE", "TRANSACTIONAL_ID", "spark query *"),
    )  # fmt: skip


def refusal(act: Callable[[], object]) -> str:
    """Returns the error sentence."""
    with pytest.raises(REFUSED) as refused:
        act()
    return str(sentence_of(refused.value))


def all_of(frame: Any) -> str:
    """Returns everything that Spark shows and stores of a query."""
    shown, execution = io.StringIO(), frame._jdf.queryExecution()
    with contextlib.redirect_stdout(shown):
        for mode in ("extended", "formatted", "cost", "codegen"):
            frame.explain(mode)
    return f"{shown.getvalue()}{execution.toString()}{execution.logical().toJSON()}"


def test_a_running_stream_uses_a_renewed_token_file(spark, world, reached, token_file, name, tmp_path):
    # Given a stream with a token file and only the rules that it needs
    source, sink = world.topic(name, "a", partitions=2), world.topic(f"{name}-out")
    old = world.token(*streaming(source, sink))
    token_file.write_text(old.token)
    query = stream(spark, reached, source, sink, tmp_path / "checkpoint", processingTime="100 milliseconds")
    try:
        query.processAllAvailable()
        assert world.seen(sink) == ["a"]
        # When its token is renewed: a new one in the file, then the old one is revoked
        token_file.write_text(world.token(who=old.principal).token)
        world.admin.tokens.revoke(old.id)
        with world.admin.producer(source) as producer:
            producer.send("b", partition=1)
        # Then it continues
        query.processAllAvailable()
        assert world.seen(sink) == ["a", "b"]
        # And neither token appears in any output
        assert "rl_" not in all_of(reading(spark, reached, source)) + json.dumps(query.lastProgress, default=str)
    finally:
        query.stop()


def test_a_stream_with_a_revoked_token_fails_and_can_be_restarted(spark, world, reached, token_file, name, tmp_path):
    # Given a stream in its second batch, with a token option
    source, sink = world.topic(name, "a"), world.topic(f"{name}-out")
    old = world.token(*streaming(source, sink))
    by_option = {"bootstrap": world.url, "caFile": world.ca, "token": old.token}
    query = stream(spark, by_option, source, sink, tmp_path / "checkpoint", processingTime="100 milliseconds")
    query.processAllAvailable()
    assert world.seen(sink) == ["a"]
    # When the token is revoked
    world.admin.tokens.revoke(old.id)
    # Then it fails with the reason
    error = refusal(query.awaitTermination)
    assert error == "The token is unknown or was revoked. Ask an administrator for another one."
    assert old.token not in str(query.exception())
    # And with another token it continues, and writes nothing twice
    with world.admin.producer(source) as producer:
        producer.send("b")
    token_file.write_text(world.token(who=old.principal).token)
    stream(spark, reached, source, sink, tmp_path / "checkpoint", availableNow=True).awaitTermination()
    assert world.seen(sink) == ["a", "b"]


def test_a_batch_job_whose_token_expires_fails_and_writes_nothing(spark, world, reached, token_file, name):
    # Given a job whose rows take as long as its token is valid
    sink = world.topic(name)
    rules = (("WRITE", "TOPIC", sink), ("WRITE", "TRANSACTIONAL_ID", "spark job *"))
    token_file.write_text(world.token(*rules, expires_ms=time.time_ns() // 1_000_000 + 8_000).token)
    slow = spark.range(2, numPartitions=1).selectExpr(
        "concat(id, java_method('java.lang.Thread', 'sleep', 5000L)) value"
    )
    error = refusal(lambda: slow.write.format("redis-ledger").options(**reached, topic=sink).mode("append").save())
    assert error == "The token has expired. Ask an administrator for another one."
    assert world.seen(sink) == []


@pytest.mark.parametrize("way", ["token", "tokenFile"])
def test_authorized_batches_are_read_and_written(spark, world, token_file, name, way):
    topic = world.topic(name)
    rules = (("READ", "TOPIC", topic), ("WRITE", "TOPIC", topic), ("WRITE", "TRANSACTIONAL_ID", name))
    token_file.write_text(world.token(*rules).token)
    options = {"bootstrap": world.url, "caFile": world.ca}
    options[way] = token_file.read_text() if way == "token" else str(token_file)
    write(spark, options, topic, onceName=name, onceNumber="0")
    assert reading(spark, options, topic).count() == 2


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        ({}, "Authentication is required. Send a valid API token or JWT as"),
        ({"token": "rl_wrong"}, "The token is unknown or was revoked."),
        ({"tokenFile": "/nowhere/token"}, "The token file /nowhere/token cannot be read (FileNotFoundError)"),
    ],
)
def test_missing_authentication_is_reported(spark, world, name, tmp_path, credentials, message):
    topic = world.topic(name)
    options = {"bootstrap": world.url, "caFile": world.ca, **credentials}
    for act in (
        lambda: reading(spark, options, topic).count(),
        lambda: write(spark, options, topic),
        lambda: stream(spark, options, topic, topic, tmp_path, availableNow=True).awaitTermination(),
    ):
        assert message in refusal(act)


LACKING = {
    "READ": "may not READ on topic '{name}'.",
    "WRITE": "may not WRITE on topic '{name}-out'.",
    "GROUP": "may not READ on group '{name}-out'.",
    "TRANSACTIONAL_ID": "may not WRITE on transactional id 'spark query ",
}


@pytest.mark.parametrize("lacking", LACKING)
def test_the_operation_that_a_stream_lacks_is_named(spark, world, reached, token_file, name, tmp_path, lacking):
    # Given a principal with all rules that the stream needs except one, who may see both topics
    source, sink = world.topic(name, "a"), world.topic(f"{name}-out")
    rules = [
        rule for rule in streaming(source, sink) if lacking not in (rule[1], rule[0] if rule[1] == "TOPIC" else "")
    ]
    looking: tuple[Rule, ...] = (("DESCRIBE", "TOPIC", source), ("DESCRIBE", "TOPIC", sink))
    token_file.write_text(world.token(*rules, *looking).token)
    query = stream(spark, reached, source, sink, tmp_path / "checkpoint", availableNow=True)
    # Then the error names it, and nothing was written
    assert LACKING[lacking].format(name=name) in refusal(query.awaitTermination)
    assert world.seen(sink) == []


def test_a_topic_that_may_not_be_described_is_refused(spark, world, reached, token_file, name):
    topic = world.topic(name)
    token_file.write_text(world.token(("DESCRIBE", "TOPIC", "other")).token)
    assert f"may not DESCRIBE on topic '{topic}'." in refusal(lambda: reading(spark, reached, topic).count())
    assert f"may not DESCRIBE on topic '{topic}'." in refusal(lambda: write(spark, reached, topic))
    # And a pattern finds the visible topics
    nothing = spark.read.format("redis-ledger").options(**reached, topicsPattern=f"{name}.*").load()
    assert nothing.count() == 0


def test_the_wrong_scheme_or_certificate_of_a_broker_is_reported_with_advice(spark, world, url, tmp_path, name):
    others = Authority(tmp_path, "others")
    token = world.token().token

    def error_of(bootstrap: str, timeout_ms: int = 3_600_000, **options: str) -> str:
        options |= {"bootstrap": bootstrap, "token": token, "timeoutMs": str(timeout_ms)}
        return refusal(lambda: reading(spark, options, name).count())

    # A certificate that is not trusted is not retried
    assert "its certificate is not trusted here" in error_of(world.url)
    assert "its certificate is not trusted here" in error_of(world.url, caFile=str(others.ca))
    # A broker that closes connections may be about to be replaced, so that is retried
    assert "an address begins with https://" in error_of(world.url.replace("https", "http"), 2_000)
    assert "an address that begins with http://" in error_of(url.replace("http", "https"), 2_000)


@pytest.fixture
def jobs(world: Secured, token_file: Path, name: str, tmp_path: Path, capsys) -> dict[str, Any]:
    """By name: the job, its arguments, and the rules it needs."""
    topic, out = world.topic(name, *range(6)), world.topic(f"{name}-out")
    query = tmp_path / "query.sql"
    query.write_text("select key, value from o")
    cluster: Rule = ("CLUSTER_ACTION", "CLUSTER", "kafka-cluster")
    read: Rule = ("READ", "TOPIC", topic)
    write: Rule = ("WRITE", "TOPIC", out)
    return {
        "offload": (offload, ["--topic", topic, "--seal"], [read, cluster]),
        "compact": (compact, ["--topic", topic, "--keep-replaced", "0ms"], [
            ("DESCRIBE", "TOPIC", topic), cluster, ("WRITE", "TRANSACTIONAL_ID", f"compact {topic} *"),
        ]),
        "replay": (replay, ["--from", topic, "--to", out], [
            read, write, ("READ", "GROUP", "replay *"), ("WRITE", "TRANSACTIONAL_ID", "replay *"),
        ]),
        "transform": (transform, [
            "--sql", str(query), "--input", f"o={topic}", "--output", out, "--name", name,
            "--commit-subscription", name,
        ], [
            read, write, ("READ", "GROUP", name), ("WRITE", "TRANSACTIONAL_ID", f"transform {name}"),
        ]),
        "reconcile": (reconcile, [
            "--left", f"topic:{topic}", "--right", f"topic:{topic}", "--report", str(tmp_path / "report.html"),
        ], [read]),
    }  # fmt: skip


@pytest.mark.parametrize("job", ["offload", "compact", "replay", "transform", "reconcile"])
def test_a_pipeline_runs_with_its_rules_and_names_a_missing_one(
    spark, world, jobs, token_file, capsys, monkeypatch, job
):
    module, words, rules = jobs[job]
    words = ["--bootstrap", world.url, "--ca-file", world.ca, "--token-file", str(token_file), *words]
    if job == "compact":
        token_file.write_text(world.token(*jobs["offload"][2]).token)
        assert offload.main([*words[:6], *jobs["offload"][1]]) == 0
    capsys.readouterr()

    refused = 2 if job == "reconcile" else 1  # since 1 means that the sides differ

    def run(text: str, code: int = refused) -> str:
        token_file.write_text(text)
        assert module.main(words) == code, capsys.readouterr().err
        stderr: str = capsys.readouterr().err
        assert "Traceback" not in stderr
        assert text not in stderr
        return stderr

    # Without one of its rules the last line names it; if the first check fails, it names DESCRIBE
    hidden: Rule = ("DESCRIBE", "TOPIC", rules[0][2])
    for lacking in rules:
        is_seen = lacking[1] == "TOPIC" and lacking[0] != "DESCRIBE"
        looking: list[Rule] = [("DESCRIBE", lacking[1], lacking[2])] if is_seen else []
        lines = run(world.token(*(rule for rule in rules if rule != lacking), *looking).token)
        what = lacking[1].lower().replace("_", " ")
        why = rf"may not ({lacking[0]}|DESCRIBE) on {what}" if lacking != hidden else "There is no topic"
        assert re.search(why, lines.splitlines()[-1])
    # A wrong token is unknown
    assert run("rl_wrong").endswith("The token is unknown or was revoked. Ask an administrator for another one.\n")
    # With all rules it succeeds, with the token from a file or from the environment
    token = world.token(*rules).token
    if job != "reconcile":
        run(token, 0)
        return
    monkeypatch.setenv("REDIS_LEDGER_TOKEN", token)
    assert module.main([*words[:4], *words[6:]]) == 0
