"""The sink without Spark: attempts that succeed, fail, lose a race or restart, and drivers that die."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from redis_ledger import Client
from redis_ledger.client.batches import Entry
from redis_ledger.client.deliveries import Delivery
from redis_ledger.errors import AlreadyAborted, LedgerError, ProducerFenced, UnknownPartition
from redis_ledger.spark.accumulator import Row
from redis_ledger.spark.task_commit import Step, TaskAttempt, abort_open_transactions, check_not_fenced, commit
from redis_ledger.spark.write_options import WriteOptions, parse_write_options
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

NAME = "spark query 1/2"


@pytest.fixture
def brokers(redis_url, prefix) -> Iterator[ThreadedBroker]:
    with threaded_broker(redis_url, prefix, brokers=2) as brokers:
        yield brokers


@pytest.fixture
def client(brokers: ThreadedBroker) -> Iterator[Client]:
    with Client(brokers.urls) as client:
        client.topics.create("out", partitions=3)
        yield client


@pytest.fixture
def wanted(brokers: ThreadedBroker) -> WriteOptions:
    return parse_write_options({"bootstrap": ",".join(brokers.urls), "topic": "out", "batchBytes": "60"}, "stream")


def attempted(wanted: WriteOptions, number: int, task: str, *values: str, key: bytes | None = None) -> str:
    """The transaction of an attempt that wrote these."""
    with TaskAttempt(wanted, Step(NAME, number), int(task[0]), task) as attempt:
        for value in values:
            attempt.put(Row(None, None, Entry(key, value.encode(), (), 1)))
        attempt.finish()
    assert attempt.records == len(values)
    assert attempt.txn is not None
    return attempt.txn


def seen(client: Client) -> list[str]:
    """The values a read_committed reader gets, in any order."""
    found = [message.text() for partition in range(3) for message in client.read("out", partition)]
    return sorted(found)


def open_now(client: Client) -> list[str]:
    return [each.owner for each in client.transactions.list("open")]


def test_output_of_several_tasks_becomes_visible_together(client, wanted):
    txns = [attempted(wanted, 0, f"{task}.0", *[f"{task}-{n}" for n in range(10)]) for task in range(3)]
    assert seen(client) == []
    assert commit(wanted, Step(NAME, 0), txns)
    assert seen(client) == sorted(f"{task}-{n}" for task in range(3) for n in range(10))
    assert client.transactions.once(NAME) == 0


def test_records_of_one_key_keep_their_order_over_many_requests(client, wanted):
    values = [f"{n:03}" for n in range(100)]
    commit(wanted, Step(NAME, 0), [attempted(wanted, 0, "0.0", *values, key=b"k")])
    (found,) = [found for p in range(3) if (found := [m.text() for m in client.read("out", p)])]
    assert found == values


def test_an_attempt_that_was_overtaken_is_aborted_with_the_commit(client, wanted):
    slow = attempted(wanted, 0, "0.0", "a", "b")
    fast = attempted(wanted, 0, "0.1", "a", "b")
    assert open_now(client) == [f"{NAME} batch 0 task 0.0", f"{NAME} batch 0 task 0.1"]
    commit(wanted, Step(NAME, 0), [fast])
    assert (seen(client), open_now(client)) == (["a", "b"], [])
    with pytest.raises(AlreadyAborted):
        client.transactions.commit(slow)


def test_an_attempt_that_fails_leaves_nothing(client, wanted):
    def fail() -> None:
        with TaskAttempt(wanted, Step(NAME, 0), 0, "0.0") as attempt:
            for _ in range(10):
                attempt.put(Row(None, None, Entry(None, b"a" * 50, (), 1)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert open_now(client) == []
    commit(wanted, Step(NAME, 0), [attempted(wanted, 0, "0.1", "a")])
    assert seen(client) == ["a"]


def test_broker_refusals_are_raised_by_the_attempt(client, wanted):
    attempt = TaskAttempt(wanted, Step(NAME, 0), 0, "0.0")
    attempt.put(Row(None, 9, Entry(None, b"a", (), 1)))
    with pytest.raises(UnknownPartition), attempt:
        attempt.finish()
    assert open_now(client) == []


def test_a_process_that_remembers_a_topic_with_more_partitions_finds_out_by_one_failure(client, wanted):
    # Given a process that has written to a topic of three partitions, of which one is left when it is made anew
    commit(wanted, Step(NAME, 0), [attempted(wanted, 0, "2.0", *"abcdef")])
    client.topics.delete("out")
    client.topics.create("out", partitions=1)
    # When an attempt writes to the others, it fails, and the next one does not
    with pytest.raises(UnknownPartition):
        attempted(wanted, 1, "2.0", *"abcdef")
    commit(wanted, Step(NAME, 1), [attempted(wanted, 1, "2.1", *"abcdef")])
    assert sorted(message.text() for message in client.read("out", 0)) == [*"abcdef"]


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_driver_that_died_before_or_after_its_commit_is_followed_by_one_that_does_the_batch_again(
    client, wanted, is_committed
):
    # Given a driver whose tasks wrote, and that died: before its commit, or before it wrote down that it was done
    died = [attempted(wanted, 5, f"{task}.0", f"{task}") for task in range(3)]
    if is_committed:
        commit(wanted, Step(NAME, 5), died)
    # When its successor does the batch again, with other tasks
    again = [attempted(wanted, 5, "0.0", "0", "1"), attempted(wanted, 5, "1.0", "2")]
    assert commit(wanted, Step(NAME, 5), again) is not is_committed
    # Then its records are there once, and nothing is open
    assert (seen(client), open_now(client)) == (["0", "1", "2"], [])


def test_a_driver_that_comes_back_cannot_commit_what_its_successor_has(client, wanted):
    old = [attempted(wanted, 5, "0.0", "a")]
    new = [attempted(wanted, 5, "0.0", "a")]
    commit(wanted, Step(NAME, 5), new)
    assert not commit(wanted, Step(NAME, 5), old)
    assert seen(client) == ["a"]


def test_a_late_driver_changes_nothing_and_gets_an_error(client, wanted):
    # Given a driver that rested before its commit of batch 5, and another one that did it and is writing batch 6
    old = [attempted(wanted, 5, "0.0", "a")]
    assert commit(wanted, Step(NAME, 5), [attempted(wanted, 5, "0.0", "a")])
    check_not_fenced(wanted, Step(NAME, 5))
    new = [attempted(wanted, 6, "0.0", "b")]
    # When the first one goes on
    assert not commit(wanted, Step(NAME, 5), old)
    # Then what the other is writing is left alone
    assert commit(wanted, Step(NAME, 6), new)
    assert seen(client) == ["a", "b"]
    # And after later batches it gets the error that it did not win
    with pytest.raises(ProducerFenced, match="batches up to 6 are committed"):
        check_not_fenced(wanted, Step(NAME, 5))


def test_a_batch_without_rows_is_counted(client, wanted):
    assert commit(wanted, Step(NAME, 3), [])
    assert client.transactions.once(NAME) == 3


def test_a_job_that_is_not_counted_commits_what_it_wrote(client, wanted):
    step = Step("spark job 1", None)
    with TaskAttempt(wanted, step, 0, "0.0") as attempt:
        attempt.put(Row(None, 0, Entry(None, b"a", (("h", b"1"),), 7)))
        attempt.finish()
    assert attempt.txn is not None
    assert commit(wanted, step, [attempt.txn])
    (message,) = client.read("out", 0)
    assert (message.value, message.headers["h"], message.timestamp_ms) == (b"a", b"1", 7)
    assert commit(wanted, step, [])


def test_a_job_that_failed_takes_back_what_its_tasks_wrote_and_nothing_of_others(client, wanted):
    attempted(wanted, 0, "0.0", "a")
    other = client.transactions.begin(owner=f"{NAME}0 batch 0 task 0.0", together=f"{NAME}0")
    abort_open_transactions(wanted, Step(NAME, 0))
    assert [each.id for each in client.transactions.list("open")] == [other.id]


def test_records_for_later_wait_until_they_are_due_and_those_for_now_are_there(client, wanted):
    entries = [
        Entry(None, b"now", (), 1),
        Entry(b"\xff", b"due", (("h", None),), 1, Delivery(at_ms=1)),
        Entry(None, b"later", (), 1, Delivery(after_ms=3_600_000)),
    ]
    with TaskAttempt(wanted, Step(NAME, 0), 0, "0.0") as attempt:
        for entry in entries:
            attempt.put(Row(None, 0, entry))
        attempt.finish()
    assert attempt.txn is not None
    commit(wanted, Step(NAME, 0), [attempt.txn])
    assert seen(client) == ["due", "now"]
    assert [record.value for record in client.scheduled.list("out")] == [b"later"]


def test_a_broker_that_stops_in_the_middle_loses_and_doubles_nothing(client, wanted, brokers):
    with TaskAttempt(wanted, Step(NAME, 0), 0, "0.0") as attempt:
        for n in range(60):
            if n == 30:
                brokers.stop(0)
            attempt.put(Row(None, None, Entry(None, f"{n:02}".encode(), (), 1)))
        attempt.finish()
    assert attempt.txn is not None
    commit(wanted, Step(NAME, 0), [attempt.txn])
    with Client(brokers.urls[1]) as left:
        assert seen(left) == [f"{n:02}" for n in range(60)]


def test_compressed_records_are_read_as_they_were(client, wanted):
    zstd = replace(wanted, compression=4)
    commit(zstd, Step(NAME, 0), [attempted(zstd, 0, "0.0", "a" * 300)])
    assert seen(client) == ["a" * 300]


def test_more_time_than_the_broker_allows_is_refused(client, wanted):
    with pytest.raises(LedgerError, match="timeout"):
        attempted(replace(wanted, transaction_timeout_ms=10**9), 0, "0.0", "a")
