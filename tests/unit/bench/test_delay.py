"""Counters of the delayed-delivery benches, against small stub brokers; and due times of their records."""

from __future__ import annotations

import asyncio
import itertools
import os

import pytest

from bench import figures
from bench.delay import dues, kafka, schedule
from bench.delay.lateness import lateness_ms
from bench.figures import Figure
from bench.lab import Pace
from bench.load import connected, request
from bench.processes import BenchFailed, RunningBroker
from redis_ledger.kafka.protocol.frame import read_header, read_request, response
from redis_ledger.kafka.protocol.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode
from tests.support.tcp_server import small_server

FIRE = Figure("fire", "one_partition", "records_per_s", 61_000, "records/s", 50_000, "process")
EARLIEST = Figure("lateness", "1000_per_s", "min_ms", 0.4, "ms", 0, "process")
OTHER = Figure("append_raw", "64KiB", "mb_per_s", 231.5, "MB/s", 200, "process")


@pytest.fixture
async def server():
    """Speaks Kafka: takes every batch, but answers error 7 for those into partition 1.  It answers two requests at a
    time in one write, and cuts that in the middle.  `most`: the highest number of unanswered requests."""
    most = 0

    async def serve(reader, writer):
        nonlocal most
        requests: asyncio.Queue[memoryview] = asyncio.Queue()

        async def read():
            nonlocal most
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = memoryview(await reader.readexactly(size))
                requests.put_nowait(frame)
                most = max(most, requests.qsize())

        reading = asyncio.create_task(read())
        try:
            while True:
                await asyncio.sleep(0.001)
                answers = b"".join(answer(requests.get_nowait()) for _ in range(min(2, requests.qsize())))
                writer.write(answers[:30])
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(answers[30:])
                if reading.done():
                    return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def answer(frame):
        header = read_header(frame)
        asked = read_request(frame, header).topic_data[0]
        index = asked.partition_data[0].index
        slot = PartitionProduceResponse(index, 7 if index else 0, -1)
        body = ProduceResponse([TopicProduceResponse(name=asked.name, partition_responses=[slot])])
        return b"".join(response(header.api_key, header.version, header.correlation_id, body))

    async with small_server(serve) as port:
        yield RunningBroker("127.0.0.1", 0, os.getpid(), os.getpid(), port), lambda: most


async def test_a_closed_loop_of_batches_counts_each_once_and_keeps_the_connections_full(server):
    # Given two connections that carry four requests each
    served, most = server
    frame = kafka.produce("t", encode([(None, b"x", (), 1)]))
    async with kafka.connected(served, 2) as connections:
        # When 25 batches are sent
        produced = await kafka.produced(connections, 4, itertools.repeat(frame, 25), 10)
    # Then there were 25, several at once on a connection, but never more than four
    assert produced.requests == 25
    assert 1 < most() <= 4


async def test_a_closed_loop_ends_with_its_time(server):
    served, _ = server
    frame = kafka.produce("t", encode([(None, b"x", (), 1)]))
    async with kafka.connected(served, 1) as connections:
        produced = await kafka.produced(connections, 2, itertools.repeat(frame), 0.1)
    assert 0.09 <= produced.seconds < 2
    assert produced.requests > 2


async def test_refused_batch_is_not_counted(server):
    served, _ = server
    frame = kafka.produce("t", encode([(None, b"x", (), 1)]), partition=1)
    async with kafka.connected(served, 1) as connections:
        with pytest.raises(BenchFailed, match="error 7"):
            await kafka.produced(connections, 1, itertools.repeat(frame, 3), 10)


async def test_open_loop_ends_on_request_and_answers_due_requests():
    # Given a server that takes 20 ms, and one connection
    async def serve(reader, writer):
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.02)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async with small_server(serve) as port:
        served = RunningBroker("127.0.0.1", port, os.getpid(), os.getpid())
        async with connected(served, 1) as client:
            # When a request is due every 5 ms, until ten have been
            asked = itertools.count()
            outcome = await client.paced(itertools.repeat(request("GET", "/")), 200, until=lambda: next(asked) == 10)
    # Then those ten are answered, and the last has waited for the nine before it
    assert outcome.answers == 10
    assert max(outcome.latencies_ms) >= 10 * 20 - 9 * 5


def test_due_times_are_where_they_should_be():
    begin = dues.now_ms()
    far = list(dues.far(2_000))
    assert min(far) >= begin + dues.HOUR_MS
    assert max(far) < dues.now_ms() + 2 * dues.HOUR_MS
    assert len(set(far)) > 1_950  # nearly every one has its own
    scattered = list(dues.scattered(1_000, 0.5, 1_000))
    assert (min(scattered) >= 1_000, max(scattered) < 1_500, scattered == sorted(scattered)) == (True, True, False)
    assert list(dues.at_once(7, 3)) == [7, 7, 7]


@pytest.mark.parametrize(("header", "distinct"), [("deliver-at", 900), ("deliver-after", 1)])
def test_encoded_batch_has_the_due_time_of_every_record(header, distinct):
    # Given the first of the requests that a bench makes beforehand
    (frame,) = schedule.batches(1, 4, header)
    # When it is read as a broker reads it
    view = memoryview(frame)[4:]
    batch = read_request(view, read_header(view)).topic_data[0].partition_data[0].records
    rows = decode(batch)
    # Then there are a thousand records of 100 bytes with that header, and as many due times as it says
    assert {(len(row.value or b""), row.headers[0][0]) for row in rows} == {(100, header)}
    assert len(rows) == 1_000
    due_times = {row.headers[0][1] for row in rows}
    assert len(due_times) == 1 if distinct == 1 else len(due_times) > distinct


def test_lateness_is_that_of_each_record():
    # Given an answer of two batches with three records, that came 5 ms after the first was due
    at = 1_800_000_000_000
    rows = [(None, b"%dxx" % (at + n), (), at) for n in range(3)]
    arrival = kafka.Arrival(at + 5.25, memoryview(encode(rows[:2]) + encode(rows[2:])))
    assert lateness_ms([arrival]) == [5.25, 4.25, 3.25]


@pytest.mark.parametrize(("value", "word"), [(0.4, "met"), (0.0, "met"), (-0.001, "missed")])
def test_early_deliveries_are_reported(value, word):
    assert figures.verdict(EARLIEST._replace(value=value)) == word


def test_the_page_has_a_table_for_deliver_later_and_one_for_the_rest(tmp_path):
    # Given a page with both, and figures of both
    page, latest = tmp_path / "RESULTS.md", tmp_path / "latest.jsonl"
    page.write_text(f"{figures.BEGIN}\n{figures.END}\nbetween\n{figures.DELAY_BEGIN}\n{figures.END}\nafter\n")
    figures.replace([FIRE, OTHER], latest)
    # When each is written
    figures.write_page(page, latest)
    figures.write_page(page, latest, figures.DELAY_BEGIN)
    # Then each figure stands in its own table, once
    first, second = page.read_text().split("between")
    assert ("`append_raw`" in first, "`fire`" in first) == (True, False)
    assert ("`append_raw`" in second, "`fire`" in second, second.endswith("after\n")) == (False, True, True)


def test_only_the_whole_is_a_measurement():
    assert (Pace.of(1.0).runs, Pace.of(1.0).scale) == (3, 1.0)
    assert (Pace.of(0.01).runs, Pace.of(0.01).scale) == (1, 0.01)
