"""What happens beside the mutated frames: order is kept, and now and then a client sends too much of something.

    janitor      recreates deleted topics, deletes unused ones, and reads the topics' ids
    flood        a thousand requests, no answer is read; then all are, in order, or the connection is closed
    bombs        batches that unpack to much (bombs.py), produced, and read by REST, which has to unpack them
    repeats      requests that name one thing a thousand times (bombs.py), of each API that takes a list
    pattern      a regular expression that would run for ever without a limit
    deaf         asks until nothing more fits into the connection, and never reads an answer
    large half   a request that says it is large, and comes slowly and never whole

Each takes connections of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import httpx

from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.list_transactions_request import ListTransactionsRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.records.build import encode
from tests.fuzz import corpus
from tests.fuzz.batches import plain
from tests.fuzz.bombs import Bomb
from tests.fuzz.drive import ANSWER_S_MAX, Address, Closed, Link
from tests.fuzz.findings import Findings
from tests.fuzz.mutate import described, framed
from tests.fuzz.words import PARTITIONS, PASSING, TOPICS, Words
from tests.support.bombs import NOW_MS
from tests.support.kafka_client import KafkaClient

KEEP_ORDER_EVERY_S = 0.3
FLOOD = 1_000
UNREAD_S = 0.5
BOMB_TOPIC = "bombs"
OURS = (*TOPICS, BOMB_TOPIC)
PARTITIONS_MAX = 20  # of a topic that has grown
LARGE_BYTES = 20 << 20
WHOLE_BYTES = 1 << 20  # a larger request may be given up before it is whole, when others need its memory
DEAF_ANSWERS, DEAF_BATCH_BYTES, DEAF_S_MAX = 100, 900_000, 10.0
PATTERN_STEPS, PATTERN_S_MAX = 27, 3.0
REST_S_MAX, HEAD_BYTES = 60.0, 1 << 16


# -- the janitor -------------------------------------------------------------------------------------------------------


async def keep_order(address: Address, words: Words, findings: Findings, until: Callable[[], bool]) -> None:
    try:
        async with KafkaClient(address, "janitor") as client:
            while not until():
                await put_in_order(client, words)
                await asyncio.sleep(KEEP_ORDER_EVERY_S)
    except (OSError, EOFError, TimeoutError, AssertionError) as error:
        findings.add("honest client failed", f"the janitor: {type(error).__name__} {error}")


async def put_in_order(client: KafkaClient, words: Words) -> None:
    known = {topic.name: topic for topic in (await client.ask(MetadataRequest(None, False), 12)).topics}
    strange = [
        name
        for name, topic in known.items()
        if not (name in (*OURS, *PASSING) or name.startswith("honest")) or len(topic.partitions) > PARTITIONS_MAX
    ]
    if strange:
        await client.ask(DeleteTopicsRequest([DeleteTopicState(name) for name in strange[:200]], timeout_ms=10_000), 6)
    if missing := [CreatableTopic(name, PARTITIONS + (name == BOMB_TOPIC), 1) for name in OURS if name not in known]:
        await client.ask(CreateTopicsRequest(missing), 7)
    words.topic_ids.update({name: known[name].topic_id for name in TOPICS if name in known})


# -- floods ------------------------------------------------------------------------------------------------------------


async def flood(address: Address, number: int, rng: Random, findings: Findings) -> None:
    """FLOOD requests in one go."""
    what = rng.choice(("produce", "metadata", "api versions", "fetch"))
    comes_back = rng.random() < 0.7
    link = await Link.open(address, number)
    findings.sent(link.peer, -1, framed(_asked(what, 0, rng)))
    sending = asyncio.create_task(link.send([framed(_asked(what, n, rng)) for n in range(FLOOD)]))
    try:
        await asyncio.sleep(UNREAD_S)
        if comes_back:
            await _read_all(link, what, findings)
    finally:
        link.abort()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def _asked(what: str, number: int, rng: Random) -> bytes:
    match what:
        case "produce":
            data = [TopicProduceData(TOPICS[0], partition_data=[PartitionProduceData(0, plain(rng))])]
            return corpus.write(0, 9, number, ProduceRequest(None, -1, 5_000, data))
        case "metadata":
            return corpus.write(3, 12, number, MetadataRequest(None, False))
        case "fetch":
            asked = [FetchPartition(0, fetch_offset=0, partition_max_bytes=50_000)]
            return corpus.write(
                1, 12, number, FetchRequest(max_bytes=50_000, topics=[FetchTopic(TOPICS[0], partitions=asked)])
            )
    return corpus.write(18, 3, number, ApiVersionsRequest("flood", "1"))


async def _read_all(link: Link, what: str, findings: Findings) -> None:
    for wanted in range(FLOOD):
        heard = await link.hear(ANSWER_S_MAX)
        if heard is None or isinstance(heard, Closed):
            findings.add("flood", f"{what}: answer {wanted} of {FLOOD} did not come: {heard}", f"{what} answers")
            return
        if (got := int.from_bytes(heard[:4], "big")) != wanted:
            findings.add("flood", f"{what}: answer {got} came where {wanted} was due", f"{what} order")
            return


async def large_half(address: Address, number: int) -> None:
    """LARGE_BYTES of a request of 100 MB, and no more."""
    link = await Link.open(address, number)
    try:
        await link.send(
            [(100 << 20).to_bytes(4, "big") + b"\0\0\0\x09\0\0\0\x01\xff\xff", *[bytes(1 << 20)] * (LARGE_BYTES >> 20)]
        )
        await link.hear(6)
    finally:
        link.abort()


async def deaf(address: Address, idle_s: float, findings: Findings) -> None:
    """It has to be given up as any other that is silent for idle_s, or its answers are kept for ever.

    Its answers are large: the time begins when no more fit into the connection, and a busy broker would need longer
    than idle_s to fill it with small ones.
    """
    loop = asyncio.get_running_loop()
    async with KafkaClient(address, "deaf") as client:
        batch = encode([(None, Random(0).randbytes(DEAF_BATCH_BYTES), (), NOW_MS)])
        data = TopicProduceData(BOMB_TOPIC, partition_data=[PartitionProduceData(PARTITIONS, batch)])
        answer = await client.ask(ProduceRequest(None, -1, 10_000, [data]), 9)
    offset = max(answer.responses[0].partition_responses[0].base_offset, 0)
    part = FetchPartition(PARTITIONS, fetch_offset=offset, partition_max_bytes=DEAF_BATCH_BYTES)
    asked = framed(corpus.write(1, 12, 1, FetchRequest(topics=[FetchTopic(BOMB_TOPIC, partitions=[part])])))
    with socket.create_connection(address) as link:
        link.setblocking(False)
        await loop.sock_sendall(link, asked * DEAF_ANSWERS)
        await asyncio.sleep(idle_s + DEAF_S_MAX)
        for _ in range(2):  # of a connection that is closed only the answer to the first byte says so
            try:
                link.send(b"\0")
            except BlockingIOError:
                pass
            except OSError:
                return  # it is closed
            await asyncio.sleep(UNREAD_S)
        findings.add("deaf client", f"kept for {idle_s + DEAF_S_MAX:.0f} s", "kept")


async def pattern(address: Address, findings: Findings) -> None:
    """A regular expression that a backtracking matcher needs 2**PATTERN_STEPS steps for, and a name to try it on."""
    async with KafkaClient(address, "pattern") as client:
        await client.ask(InitProducerIdRequest("a" * PATTERN_STEPS + "!", 1_000), 4)
        began = time.monotonic()
        await client.ask(ListTransactionsRequest([], [], -1, "(a+)+"), 2)
    if (took_s := time.monotonic() - began) > PATTERN_S_MAX:
        findings.add("pattern", f"ListTransactions took {took_s:.1f} s", "ListTransactions")


# -- bombs -------------------------------------------------------------------------------------------------------------


class Bombs:
    """Stored compressed; a read by REST makes the broker decompress them."""

    def __init__(self, kafka: Address, http: Address, findings: Findings, batches: Sequence[Bomb]) -> None:
        self._kafka, self._findings, self._batches = kafka, findings, batches
        self._url = f"http://{http[0]}:{http[1]}/v1/topics/{BOMB_TOPIC}/partitions"
        self.answers: list[str] = []

    async def go_off(self) -> None:
        laid = []
        try:
            async with KafkaClient(self._kafka, "bombs") as client:
                for number, bomb in enumerate(self._batches):
                    partition = number % PARTITIONS
                    if (offset := await self._lay(client, partition, bomb)) is not None:
                        laid.append((bomb.name, partition, offset))
            for each in laid:
                await self._read(*each)
            # And all at once, by several.
            await asyncio.gather(*(self._read(*each) for each in laid))
        except (OSError, EOFError, TimeoutError) as error:
            self._findings.add("bomb", f"{type(error).__name__} {error}")

    async def _lay(self, client: KafkaClient, partition: int, bomb: Bomb) -> int | None:
        """Its offset; None if it was refused."""
        asked = [TopicProduceData(BOMB_TOPIC, partition_data=[PartitionProduceData(partition, bomb.data)])]
        answer = await client.ask(ProduceRequest(None, -1, 10_000, asked), 9)
        response = answer.responses[0].partition_responses[0]
        if response.error_code:
            self.answers.append(f"{bomb.name}: refused with {response.error_code}")
            return None
        return int(response.base_offset)

    async def _read(self, name: str, partition: int, offset: int) -> None:
        began, size, head = time.monotonic(), 0, b""
        params = {"max_records": 1, "offset": offset}
        async with httpx.AsyncClient(trust_env=False, timeout=REST_S_MAX) as http:
            try:
                async with http.stream("GET", f"{self._url}/{partition}/records", params=params) as answer:
                    async for piece in answer.aiter_bytes():
                        size += len(piece)
                        head = head if len(head) > HEAD_BYTES else head + piece
            except httpx.HTTPError as error:
                self._findings.add("bomb", f"{name}: {type(error).__name__} {error}", f"{name} not answered")
                return
        problem = verdict(answer.status_code, head)
        took_s = time.monotonic() - began
        self.answers.append(f"{name}: {answer.status_code} {problem or ''}, {size} bytes in {took_s:.1f} s")
        if problem is None:
            self._findings.add("bomb", f"{name}: {answer.status_code} {head[:200]!r}", f"{name} answer")


async def repeats(
    address: Address, number: int, frames: Sequence[Bomb], findings: Findings, outcomes: Counter[str]
) -> None:
    """Each is answered; the connection may be closed only for a frame with too many elements.  outcomes: of each,
    counted."""
    for bomb in frames:
        link = await Link.open(address, number)
        findings.sent(link.peer, -1, framed(bomb.data))
        try:
            await link.send([framed(bomb.data)])
            asked = described(bomb.data, 0)
            may_be_silent = asked.may_be_silent
            heard = await link.hear(UNREAD_S if may_be_silent else ANSWER_S_MAX)
            outcomes["silent" if heard is None else "closed" if isinstance(heard, Closed) else "answered"] += 1
            if asked.is_sound and isinstance(heard, Closed) and len(bomb.data) < WHOLE_BYTES:
                findings.add("repeats", f"{bomb.name}: closed without an answer", f"{bomb.name} closed")
            if heard is None and not may_be_silent:
                findings.add("repeats", f"{bomb.name}: no answer in {ANSWER_S_MAX:.0f} s", bomb.name)
        finally:
            link.abort()


def verdict(status: int, head: bytes) -> str | None:
    """What a read by REST said: "records", or the code of its problem; None if it is neither, or an internal error."""
    if status == 200:
        return "records" if head.startswith(b'{"records":[') else None
    with contextlib.suppress(ValueError, AttributeError, KeyError):
        code = str(json.loads(head)["code"])
        return None if code == "internal_error" else code
    return None
