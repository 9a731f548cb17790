"""How fast are records offloaded from Redis to Parquet, how much is left in Redis, and how fast are they read back?

`offload` `2M`: the topic of `spark_read`, by the unmodified pipeline, with all ledgers sealed and every file verified
before it is published.  `compression_ratio` is bytes of payload in Redis divided by bytes of files,
`redis_bytes_freed_ratio` the share of Redis's used memory that is free afterwards.

`offload_read` `kafka_consumer`: the broker converts Parquet to record batches, for a Kafka consumer with a connection
for each partition, which fetches up to 1 MiB at a time; replies are split and not decoded.
`spark_read` `offloaded`: Spark reads the files itself.  Both fail unless every record is read.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.delay.kafka import Connection, connected, fetch, fetched
from bench.lab import Lab
from bench.processes import BenchFailed, RunningBroker
from bench.spark.engine import Costs, Engine
from bench.spark.reading import DURABILITY, TOPIC, megabytes, note_shares, timed
from redis_ledger.app.embedded_redis.server import EmbeddedServer
from redis_ledger.client import AsyncClient
from redis_ledger.client.models import OffloadedPartition
from redis_ledger.records.batch import split
from redis_ledger.store.address import parse_url
from redis_ledger.store.connection import ask_once

CONSUMED_S_MAX = 60.0  # enough for a stable rate


async def measure(
    labs: Mapping[str, Lab], served: RunningBroker, engine: Engine, url: str, records: int, held: EmbeddedServer
) -> None:
    costs = Costs(engine, served)
    await _offload(labs["offload"], engine, costs, url, records, held)
    await _consume(labs["offload_read"], served, costs, url)
    await timed(labs["spark_read"], "offloaded", engine, costs, records, {"url": url, "topic": TOPIC}, goal=None)


async def _offload(lab: Lab, engine: Engine, costs: Costs, url: str, records: int, held: EmbeddedServer) -> None:
    async with AsyncClient(url) as client:
        payload = sum(state.bytes for state in (await client.topics.describe(TOPIC)).partition_states)
        before = await used_memory(held)
        costs.start()
        seconds = (await engine.ask("offload", url=url, topic=TOPIC))["seconds"]
        used = costs.used()
        files = _all_of((await client.offload.describe(TOPIC)).partitions, records)
    await costs.rest()
    after = await used_memory(held)
    lab.note("2M", "mb_per_s", megabytes(records) / seconds, "MB/s", DURABILITY)
    lab.note("2M", "compression_ratio", payload / files, "times smaller", DURABILITY)
    lab.note("2M", "redis_bytes_freed_ratio", 1 - after / before, "of used memory", DURABILITY)
    lab.note("2M", "redis_mb_left", after / 1e6, "MB", DURABILITY)
    note_shares(lab, "2M", records, [(seconds, used)])


def _all_of(partitions: Sequence[OffloadedPartition], records: int) -> int:
    """Returns the bytes of all files, which have all records."""
    segments = [segment for each in partitions for segment in each.segments]
    written = sum(segment.records for segment in segments)
    if written != records:
        raise BenchFailed(f"{records} records should be offloaded, but {written} are in files.")
    return sum(segment.bytes for segment in segments)


async def used_memory(held: EmbeddedServer) -> int:
    """Of Redis, in bytes."""
    answer: bytes = await ask_once(parse_url(held.url).seeds[0], (b"INFO", b"memory"), timeout_s=5)
    rows = answer.decode().splitlines()
    return int(dict(row.partition(":")[::2] for row in rows if ":" in row)["used_memory"])


async def _consume(lab: Lab, served: RunningBroker, costs: Costs, url: str) -> None:
    async with AsyncClient(url) as client:
        states = (await client.topics.describe(TOPIC)).partition_states
    costs.start()
    began_s = time.perf_counter()
    async with connected(served, len(states)) as connections:
        links = zip(connections, states, strict=True)
        until_s = began_s + CONSUMED_S_MAX
        counts = await asyncio.gather(
            *(_read(link, state.partition, state.offloaded_offset, until_s) for link, state in links)
        )
    seconds = time.perf_counter() - began_s
    lab.note("kafka_consumer", "mb_per_s", megabytes(sum(counts)) / seconds, "MB/s", DURABILITY)
    note_shares(lab, "kafka_consumer", sum(counts), [(seconds, costs.used())])


async def _read(link: Connection, partition: int, end: int, until_s: float) -> int:
    """Returns the number of records read, each once and in order."""
    at = 0
    while at < end and time.perf_counter() < until_s:
        data = fetched(await link.ask(fetch(TOPIC, at, 0, partition)))
        first = at
        for header, _ in split(data):
            if header.base_offset > at:
                raise BenchFailed(f"Partition {partition} continues at {header.base_offset}, not at {at}.")
            at = max(at, header.last_offset + 1)
        if at == first:
            raise BenchFailed(f"No records from {partition}:{at} on.")
    return at


def embedded(home: Path) -> EmbeddedServer:
    """Returns the Redis of a broker with this home, for queries beside the broker."""
    return EmbeddedServer.attach(home / "data", DURABILITY, os.environ)
