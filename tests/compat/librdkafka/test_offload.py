# mypy: disable-error-code="import-not-found"
"""Offloaded records, read by an ordinary consumer.  Kafka has no counterpart, so these tests skip there."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

HTTP = os.environ.get("HTTP", "")
ROOT = Path(__file__).resolve().parents[3]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def offload():
    """Offloads all decided records of the topic; returns the offloaded offset of each partition."""
    if not HTTP:
        pytest.skip("HTTP is not the address of the broker's REST port")

    def run(topic):
        program = [os.environ["PYTHON"], "-m", "tests.support.offload_over_rest", HTTP, topic]
        subprocess.run(program, cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
        with urllib.request.urlopen(f"{HTTP}/v1/topics/{topic}/cold", timeout=10) as answer:
            return [each["cold_offset"] for each in json.load(answer)["partitions"]]

    return run


@pytest.fixture
def written(topic, producer, transactional, send):
    """Fills a topic with plain, idempotent, compressed, committed and aborted batches; returns the committed
    records."""
    called, committed = topic(), []

    def write(tag):
        for codec in CODECS:
            values = [b"%s-%s-%d" % (tag, codec.encode(), n) for n in range(50)]
            send(
                producer(enable_idempotence=codec != "none", compression_type=codec, batch_num_messages=20),
                called,
                values,
            )
            committed.extend(values)
        producing = transactional()
        for number in range(12):
            values = [b"%s-txn-%d-%d" % (tag, number, n) for n in range(3)]
            producing.begin_transaction()
            for value in values:
                producing.produce(called, value, key=b"k", headers=[("n", b"%d" % number)])
            producing.flush(20)  # an abort would discard unsent records
            if number % 3:
                producing.commit_transaction(20)
                committed.extend(values)
            else:
                producing.abort_transaction(20)

    return called, committed, write


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_a_consumer_reads_offloaded_records_and_continues_without_a_gap(isolation, written, offload, everything):
    called, committed, write = written
    # Given a log of which the first part is offloaded
    write(b"offloaded")
    (border,) = offload(called)
    assert border == 5 * 50 + 12 * 4
    write(b"hot")
    # When an ordinary consumer begins at 0
    found = everything(called, isolation=isolation)
    # Then it gets every committed record, in order; with read_uncommitted it may also get aborted ones
    known = set(committed)
    assert [value for value in found if value in known] == committed
    assert found == committed or isolation == "read_uncommitted"


def test_offloaded_records_are_read_from_any_offset(written, offload, consumer, read):
    called, committed, write = written
    write(b"offloaded")
    (border,) = offload(called)
    reader = consumer(fetch_message_max_bytes=1_000)
    reader.assign([TopicPartition(called, 0, 0)])
    messages = read(reader, len(committed))
    assert [message.value() for message in messages] == committed
    assert messages[-1].headers() == [("n", b"11")]
    for message in messages[:: len(messages) // 7]:
        reader.seek(TopicPartition(called, 0, message.offset()))
        (again,) = read(reader, 1)
        assert (again.offset(), again.value(), again.timestamp()) == (
            message.offset(), message.value(), message.timestamp(),
        )  # fmt: skip
    assert reader.get_watermark_offsets(TopicPartition(called, 0), timeout=10) == (0, border)


def test_an_offset_is_found_by_time_in_the_offloaded_range(topic, producer, send, offload, consumer):
    called = topic()
    sent = producer()
    for n in range(20):
        send(sent, called, [b"%d" % n], timestamp=1_700_000_000_000 + n * 1_000)
    offload(called)
    (found,) = consumer().offsets_for_times([TopicPartition(called, 0, 1_700_000_007_500)], timeout=10)
    assert found.offset == 8


def test_a_lagging_group_catches_up_through_offloaded_records(written, offload, consumer, read, name):
    called, committed, write = written
    write(b"offloaded")
    group = name("g")
    behind = consumer(called, group_id=group)
    first = read(behind, 40)
    behind.commit(asynchronous=False)
    behind.close()
    offload(called)
    write(b"hot")
    rest = read(consumer(called, group_id=group), len(committed) - 40)
    assert [message.value() for message in first + rest] == committed
