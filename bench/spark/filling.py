"""Writes millions of records to a topic: record batches built once, and sent repeatedly over a few connections.

Values are lines of text with a few numbers, different for each record of BATCHES batches, and compress to a quarter, as
logs and events do.  Batches repeat so far apart that no compressor sees two of them at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

from bench.processes import BenchFailed, RunningBroker
from redis_ledger.records.build import encode

VALUE_BYTES = 1024
BATCH_RECORDS = 1_000
BATCHES = 64
SENT_AT_ONCE = 8  # batches in one request
SEED = 20_260_101
_WORDS = (
    "accepted account address amount answer archive article balance basket cancelled card carrier checkout city claim "
    "confirmed country courier currency customer customs damaged delayed delivery deposit discount dispatched driver "
    "expected failed fragile gateway gift harbour insured invoice item label ledger letter limit loaded lost north "
    "order packed parcel partial payment pending pickup port priority product promised quantity received refund region "
    "rejected return route scanned sender shelf shipment signed south status stock street supplier terminal total "
    "tracking transfer truck unpaid van voucher warehouse weight window"
).split()


def batches(number: int = BATCHES, records: int = BATCH_RECORDS) -> list[bytes]:
    """Returns record batches of this many records of VALUE_BYTES each, with keys of a few bytes."""
    chance, now_ms = random.Random(SEED), time.time_ns() // 1_000_000
    made = []
    for batch in range(number):
        rows = [(b"%d" % chance.randrange(100_000), value(chance), (), now_ms + batch) for _ in range(records)]
        made.append(encode(rows))
    return made


def value(chance: random.Random) -> bytes:
    fields = [f'{{"id":"{chance.getrandbits(64):016x}","amount":{chance.randrange(10**6) / 100:.2f},"text":"']
    fields.append(" ".join(chance.choices(_WORDS, k=180)))
    return "".join(fields).encode()[: VALUE_BYTES - 2] + b'"}'


async def fill(served: RunningBroker, topic: str, partitions: int, records: int, made: Sequence[bytes]) -> float:
    """Creates the topic and writes so many records, spread evenly.  Returns the seconds, without creating."""
    per_request = max(1, min(SENT_AT_ONCE, records // (BATCH_RECORDS * partitions)))
    requests = records // (BATCH_RECORDS * per_request)
    if requests * per_request * BATCH_RECORDS != records:
        raise BenchFailed(f"{records} records are not whole requests of {per_request * BATCH_RECORDS}.")
    await create(served, topic, partitions)
    numbers = iter(range(requests))

    def work() -> None:
        link = HTTPConnection(served.host, served.port)
        try:
            for number in numbers:  # one iterator for all of them: next() of a range is atomic
                at = number * per_request
                body = b"".join(made[(at + place) % len(made)] for place in range(per_request))
                _send(link, f"/v1/topics/{topic}/records?partition={number % partitions}", body)
        finally:
            link.close()

    began_s = time.perf_counter()
    with ThreadPoolExecutor(partitions) as threads:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(threads, work) for _ in range(partitions)))
    return time.perf_counter() - began_s


async def create(served: RunningBroker, topic: str, partitions: int) -> None:
    link = HTTPConnection(served.host, served.port)
    try:
        body = f'{{"name": "{topic}", "partitions": {partitions}}}'
        await asyncio.to_thread(_send, link, "/v1/topics", body)
    finally:
        link.close()


def _send(link: HTTPConnection, path: str, body: bytes | str) -> None:
    kind = "application/json" if isinstance(body, str) else "application/vnd.redis-ledger.batch"
    link.request("POST", path, body, {"content-type": kind})
    answer = link.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise BenchFailed(f"POST {path}: {answer.status} {text[:500].decode()}")
