from __future__ import annotations

import dataclasses
from itertools import pairwise
from select import select

import httpx
import pytest

from redis_ledger.errors import OffsetOutOfRange, Unavailable
from redis_ledger.ids import TopicPartition
from redis_ledger.spark import plain_http
from redis_ledger.spark.fetch import SLACK_BYTES, Task, chunks, request_bytes
from redis_ledger.spark.filters import Bounds
from redis_ledger.spark.plain_http import PlainHttp
from redis_ledger.spark.plan import Range
from redis_ledger.spark.read_options import Connection
from tests.support.processes import eventually
from tests.unit.spark.log_server import LogServer, log_server

ORDERS = TopicPartition("orders", 0)


@pytest.fixture(autouse=True)
def connections_are_closed():
    yield
    plain_http.close_all()


@pytest.fixture
def log():
    """Ten batches of ten records: offsets 0 to 99, timestamps 0 to 99."""
    with log_server() as server:
        for tens in range(10):
            server.add([b"%d" % (tens * 10 + ones) for ones in range(10)], timestamp_ms=tens * 10, compression=tens % 5)
        yield server


def task(log: LogServer, first: int = 0, end: int = 100, **other) -> Task:
    made = Task(Range(ORDERS, first, end, 20.0), Connection((log.url,), None, 5_000), "read_committed", 1 << 20, True)
    return dataclasses.replace(made, **other)


def values(each: Task) -> list[int]:
    return [int(record.value or b"-1") for chunk in chunks(each) for record in chunk.records]


@pytest.mark.parametrize(("first", "end"), [(0, 100), (0, 1), (13, 14), (10, 20), (15, 35), (99, 100)])
@pytest.mark.parametrize("fetch_bytes", [1, 500, 1 << 20])
def test_a_task_reads_its_offsets_whatever_batches_they_are_in(log, first, end, fetch_bytes):
    assert values(task(log, first, end, fetch_bytes=fetch_bytes)) == [*range(first, end)]


def test_tasks_side_by_side_read_everything_once(log):
    cuts = [0, 7, 33, 34, 90, 100]
    seen = [value for first, end in pairwise(cuts) for value in values(task(log, first, end))]
    assert seen == [*range(100)]


def test_stretches_without_records_are_passed(log):
    log.skip(5)
    log.add([b"105"])
    log.skip(3)
    assert values(task(log, 95, log.end, fetch_bytes=1)) == [95, 96, 97, 98, 99, 105]


def test_the_next_request_leaves_before_a_chunk_is_used(log):
    # Given a task that fetches one batch at a time
    reading = chunks(task(log, fetch_bytes=1))
    # When the first one was fetched
    next(reading)
    # Then exactly the second is requested
    eventually(lambda: len(log.asked) == 2)
    reading.close()
    assert [offset for offset, _ in log.asked] == [0, 10]


def test_connections_are_used_again_by_the_next_task_of_the_process(log):
    for first in (0, 10, 20):
        values(task(log, first, first + 10))
    assert log.connections == 1


def test_a_connection_that_the_broker_has_closed_is_not_used_again(log):
    # Given a broker that closes the connection after a response without announcing it
    log.hangs_up = True
    http = PlainHttp()
    with httpx.Client(transport=http, base_url=log.url) as client:
        client.get("/?offset=0&max_bytes=1")
        (idle,) = http._idle.values()
        eventually(lambda: select([idle[0].sock], [], [], 0)[0] != [])
        # When the next request follows, then it is not sent on the closed connection
        assert client.get("/?offset=0&max_bytes=1").status_code == 200


@pytest.mark.parametrize("refused", [503, None])
def test_a_request_that_fails_for_a_moment_is_repeated(log, refused):
    log.refuse = [refused, refused]
    assert values(task(log)) == [*range(100)]


def test_with_several_brokers_the_next_one_is_asked(log):
    with log_server() as gone:
        dead_url = gone.url
    assert values(task(log, connection=Connection((dead_url, log.url), None, 5_000))) == [*range(100)]


def test_no_broker_at_all_is_told_in_words():
    with log_server() as gone:
        unreachable = task(gone, connection=Connection((gone.url,), None, 200))
    with pytest.raises(Unavailable, match="reached no broker within 200 ms"):
        values(unreachable)


def shown(log: LogServer) -> list[str]:
    return [headers["authorization"] for headers in log.headers]


def test_a_token_travels_as_a_bearer(log):
    values(task(log, connection=Connection((log.url,), "s3cret", 5_000)))
    assert set(shown(log)) == {"Bearer s3cret"}


def test_a_token_file_that_changes_opens_no_connection_anew_and_what_was_refused_is_not_shown_again(log, tmp_path):
    # Given a stream's tasks, the second of which was created with a renewed token
    file = tmp_path / "token"
    first = Connection((log.url,), "t1", 5_000, token_file=str(file))
    second = dataclasses.replace(first, token="t2")
    for each in (first, second, first):
        values(task(log, connection=each))
    assert (shown(log), log.connections) == (["Bearer t1", "Bearer t2", "Bearer t1"], 1)
    # When the old token is refused, and the token file has another one
    log.headers.clear()
    log.refuse = [401]
    file.write_text("t3")
    values(task(log, connection=first))
    # Then the new one is used from then on
    values(task(log, connection=first))
    assert shown(log) == ["Bearer t1", "Bearer t3", "Bearer t3"]


def test_records_deleted_after_planning_fail_the_task(log):
    log.start = 30
    with pytest.raises(
        OffsetOutOfRange, match=r"orders:0: offset 10 is deleted; the log has 30 to 100\..*failOnDataLoss"
    ):
        values(task(log, 10))


def test_or_is_passed_over_when_that_was_asked_for(log):
    log.start, log.batches = 30, log.batches[3:]
    assert values(task(log, 10, fail_on_data_loss=False)) == [*range(30, 100)]


def test_a_batch_that_the_log_begins_in_is_read_from_there_on(log):
    log.start, log.batches = 34, log.batches[3:]
    assert values(task(log, 10, fail_on_data_loss=False)) == [*range(34, 100)]


@pytest.mark.parametrize("first", [95, 120])
def test_an_end_that_has_come_nearer_is_a_loss_too(log, first):
    with pytest.raises(OffsetOutOfRange, match="orders:0"):
        values(task(log, first, 150))
    assert values(task(log, first, 150, fail_on_data_loss=False)) == [*range(first, 100)]


def test_records_outside_the_times_asked_for_are_left_out(log):
    assert values(task(log, bounds=Bounds(from_ms=25, until_ms=41))) == [*range(25, 41)]


def test_a_batch_that_is_too_old_as_a_whole_is_not_even_decoded(log):
    # Given a batch whose records cannot be decoded
    log.batches[0] = log.batches[0][:61] + b"\xff" * (len(log.batches[0]) - 61)
    # When only later records are read, then it is ignored
    assert values(task(log, bounds=Bounds(from_ms=10))) == [*range(10, 100)]


@pytest.mark.parametrize(
    ("left", "size", "expected"), [(10, 100.0, 1_000 + SLACK_BYTES), (1_000_000, 100.0, 1 << 20), (1, 0.5, SLACK_BYTES)]
)
def test_a_request_asks_for_little_more_than_the_range_holds(left, size, expected):
    assert request_bytes(left, size, 1 << 20) == expected
