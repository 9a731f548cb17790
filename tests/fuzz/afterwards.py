"""Checks after the storm: the broker works as before and holds no state that blocks clients."""

from __future__ import annotations

import asyncio
import time

import httpx

from redis_ledger.errors import CorruptBatch
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.records.batch import HEADER_BYTES, BatchHeader, read_header
from tests.fuzz.drive import Address, Closed, Link
from tests.fuzz.findings import Findings, Sending
from tests.fuzz.honest import Honest, HonestFailed
from tests.fuzz.process import Broker
from tests.fuzz.scenes import OURS, put_in_order, verdict
from tests.fuzz.watch import LogTail
from tests.fuzz.words import Words
from tests.support.kafka_client import KafkaClient

SETTLE_S_MAX = 40.0  # longest transaction, the sweep, and slack for a busy machine
EARLIEST, LATEST = -2, -1
REPLAY_S = 0.3
REPLAYED_MAX = 60  # of one finding's suspects


async def check(broker: Broker, words: Words, findings: Findings, settle_s: float, transaction_ms: int) -> None:
    """settle_s: how long committed readers may be held up by transactions that the storm has left open, each for
    transaction_ms at most."""
    try:
        await _is_ready(broker, findings)
        async with KafkaClient(broker.kafka, "afterwards") as client:
            await put_in_order(client, words)
            await readers_go_on(client, findings, settle_s)
        await _rest_answers(broker, findings)
        last = Honest(broker.kafka, "honest-last", modern=False, timeout_ms=transaction_ms)
        await last.run(lambda: last.round >= 5)
    except (OSError, EOFError, TimeoutError, AssertionError, HonestFailed, httpx.HTTPError) as error:
        findings.add("afterwards", f"{type(error).__name__} {error}")


async def _is_ready(broker: Broker, findings: Findings) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
        answer = await http.get(f"http://{broker.http[0]}:{broker.http[1]}/readyz")
    if answer.status_code != 200:
        findings.add("afterwards", f"/readyz: {answer.status_code} {answer.text[:300]}", "readyz")


async def readers_go_on(client: KafkaClient, findings: Findings, settle_s: float = SETTLE_S_MAX) -> None:
    """Every partition's stable offset reaches its end, and a committed reader gets there from the start."""
    topics = (await client.ask(MetadataRequest(None, False), 12)).topics
    places = [(topic.name, part.partition_index) for topic in topics for part in topic.partitions]
    until = time.monotonic() + settle_s
    held = places
    while held and time.monotonic() < until:
        held = [p for p in held if await _offset(client, *p, LATEST, 1) != await _offset(client, *p, LATEST, 0)]
        await asyncio.sleep(0.2)
    for topic, partition in held:
        findings.add("held up", f"{topic}-{partition}: committed readers stop before the end", "stable offset")
    for topic, partition in places:
        if (topic, partition) not in held:
            await _read_through(client, topic, partition, findings)


async def _offset(client: KafkaClient, topic: str, partition: int, timestamp: int, isolation: int) -> int:
    asked = [ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, timestamp)])]
    answer = await client.ask(ListOffsetsRequest(-1, isolation, asked, 10_000), 7)
    found = answer.topics[0].partitions[0]
    assert found.error_code == 0, f"ListOffsets of {topic}-{partition}: error {found.error_code}"
    return int(found.offset)


def headers_of(data: bytes) -> list[BatchHeader]:
    """Of whole batches.  One without records stands for records of an aborted transaction whose payload was deleted."""
    headers: list[BatchHeader] = []
    at = 0
    while at < len(data):
        header = read_header(data, at)
        if header.size < HEADER_BYTES or at + header.size > len(data):
            raise CorruptBatch(
                f"The batch at byte {at} is cut: it says {header.size} bytes, {len(data) - at} are there."
            )
        headers.append(header)
        at += header.size
    return headers


async def _read_through(client: KafkaClient, topic: str, partition: int, findings: Findings) -> None:
    at, end = [await _offset(client, topic, partition, when, 1) for when in (EARLIEST, LATEST)]
    where = f"{topic}-{partition}"
    while at < end:
        asked = [
            FetchTopic(topic, partitions=[FetchPartition(partition, fetch_offset=at, partition_max_bytes=4 << 20)])
        ]
        answer = await client.ask(FetchRequest(isolation_level=1, topics=asked), 11)
        found = answer.responses[0].partitions[0]
        try:
            batches = headers_of(found.records or b"")
        except CorruptBatch as error:
            findings.add("stored batches", f"{where} at {at}: {error}", "cut")
            return
        if found.error_code or not batches or batches[-1].last_offset < at:
            findings.add(
                "held up", f"{where} at {at} of {end}: error {found.error_code}, {len(batches)} batches", "read"
            )
            return
        at = batches[-1].last_offset + 1


async def _rest_answers(broker: Broker, findings: Findings) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        for topic in OURS[:-1]:
            for partition in range(3):
                url = f"http://{broker.http[0]}:{broker.http[1]}/v1/topics/{topic}/partitions/{partition}/records"
                answer = await http.get(url, params={"max_bytes": 60_000_000})
                if verdict(answer.status_code, answer.content[:100_000]) is None:
                    findings.add("REST", f"{url}: {answer.status_code} {answer.text[:300]}", f"{answer.status_code}")


# -- which frame was it ------------------------------------------------------------------------------------------------


async def reproduce(broker: Broker, tail: LogTail, findings: Findings) -> None:
    """Sends the suspects of each log finding alone; one that brings the same line again is the one that is kept."""
    tail.look()
    for signature, one in list(findings.found.items()):
        if one.kind not in ("trace", "log"):
            continue
        for suspect in one.candidates[:REPLAYED_MAX]:
            if broker.exit_code is not None:
                return
            await send_alone(broker.kafka, suspect.data)
            if signature in tail.look():
                one.candidates, one.is_reproduced, one.number = [suspect], True, suspect.number
                break


async def send_alone(address: Address, data: bytes, within_s: float = REPLAY_S) -> list[bytes]:
    """What is answered on a connection of its own, until it is closed or silent; b"" at the end says that it is closed.

    within_s: how long to wait for the first answer.
    """
    link = await Link.open(address, 200)
    answers: list[bytes] = []
    try:
        await link.send([data])
        while isinstance(heard := await link.hear(REPLAY_S if answers else within_s), bytes):
            answers.append(heard)
        if isinstance(heard, Closed):
            answers.append(b"")
    finally:
        link.abort()
    await asyncio.sleep(0.02)  # for the log, which another process writes
    return answers


def described(sending: Sending) -> str:
    return f"case {sending.number}, {len(sending.data)} bytes: {sending.data[:60].hex()}"
