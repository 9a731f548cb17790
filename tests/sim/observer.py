"""Looks at the brokers directly, past the proxies: what is left to do, the final log, the offsets of groups."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
from aiokafka import AIOKafkaConsumer, TopicPartition

from tests.sim.clients import rest
from tests.sim.clients.context import INPUT, KEYS, LATER, PARTITIONS, PIPELINES, PLAIN, TOPICS, TXN, Context
from tests.sim.digest import Digest
from tests.sim.history import FINAL
from tests.sim.processes import Processes
from tests.sim.recorder import Recorder

SUBSCRIPTIONS = (
    (TXN, "shared", "shared"), (LATER, "watch", "shared"), (PLAIN, "exclusive", "exclusive"),
    (INPUT, "execute", "shared"), (INPUT, "step", "shared"), (TXN, "failover", "failover"),
    (KEYS, "key_shared", "key_shared"),
)  # fmt: skip
GROUPS = {"group": PLAIN, "chain": INPUT, "rdk": INPUT}
TRIES_MAX, TRY_EVERY_S = 40, 0.5


class Observer:
    def __init__(self, processes: Processes, recorder: Recorder, context: Context) -> None:
        self._processes, self._recorder, self._context = processes, recorder, context
        self._http = httpx.AsyncClient(timeout=30.0, trust_env=False)
        self._groups: dict[str, str] = {}  # of the clients of this run → topic

    async def close(self) -> None:
        await self._http.aclose()

    def _topic(self, name: str) -> str:
        return self._context.topic(name)

    async def call(self, method: str, path: str, body: Any = None, broker: str = "b0") -> Any:
        """Tries again if the broker cannot answer: it may still be recovering."""
        why = ""
        for number in range(TRIES_MAX):
            try:
                url = f"{self._processes.brokers[broker].url}/v1{path}"
                answer = await self._http.request(method, url, json=body)
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
            else:
                # An attempt whose answer was lost has made it, or deleted it, already.
                if answer.status_code < 400 or (number and answer.status_code in (404, 409) and method != "GET"):
                    return answer.json() if answer.content else {}
                why = answer.text
                assert answer.status_code >= 500, f"{method} {path}: {why}"
            await asyncio.sleep(TRY_EVERY_S)
        raise AssertionError(f"{method} {path}: {why}")

    async def create(self, pipelines: Sequence[str], sidecar: Sequence[str]) -> None:
        """sidecar: topics whose transactions wait beside the log."""
        for name in TOPICS:
            settings = {"txn_buffer": "sidecar" if name in sidecar else "marker"}
            body = {"name": self._topic(name), "partitions": PARTITIONS, "settings": settings}
            await self.call("POST", "/topics", body)
        for topic, name, kind in SUBSCRIPTIONS:
            await self.call("POST", f"/topics/{self._topic(topic)}/subscriptions", {"name": name, "kind": kind})
        self._groups = {name: topic for name, topic in GROUPS.items() if name not in PIPELINES or name in pipelines}
        for pipeline in pipelines:
            self._recorder.note("pipeline", pipeline=pipeline, input=self._topic(INPUT))

    # -- what is left --------------------------------------------------------------------------------------------------

    async def left(self) -> dict[str, int]:
        """Returns what is not done yet: by a sentence, how much of it."""
        found: dict[str, int] = {}
        for topic in self._context.topics:
            states = (await self.call("GET", f"/topics/{topic}"))["partition_states"]
            found[f"open transactions of {topic}"] = sum(each["open_transactions"] for each in states)
            found[f"records above the stable offset of {topic}"] = sum(
                each["end_offset"] - each["stable_offset"] for each in states
            )
            subscriptions = await self._subscriptions(topic)
            for name, stats in subscriptions.items():
                found[f"backlog of {name} on {topic}"] = stats["backlog"]
            for group in (name for name, read in self._groups.items() if self._topic(read) == topic):
                cursors = subscriptions[group]["cursors"] if group in subscriptions else ()
                begun = {each["partition"] for each in cursors if each["mark_delete"] >= 0}
                for partition in set(range(PARTITIONS)) - begun:
                    found[f"first records of {topic}-{partition} for {group}"] = await self._first(topic, partition)
        waiting = await self.call("GET", f"/topics/{self._topic(LATER)}/scheduled:stats")
        found["scheduled records"] = waiting["total"]["records"]
        found["open transactions"] = len((await self.call("GET", "/transactions?status=open"))["transactions"])
        return {what: count for what, count in found.items() if count}

    async def _first(self, topic: str, partition: int) -> int:
        """How many committed records a group gets first that has no offset on a partition: its backlog is not known."""
        answer = await self.call("GET", f"/topics/{topic}/partitions/{partition}/records?max_records=1")
        return len(answer["records"])

    async def _subscriptions(self, topic: str) -> dict[str, Any]:
        names = [each["name"] for each in (await self.call("GET", f"/topics/{topic}/subscriptions"))["subscriptions"]]
        return {name: await self.call("GET", f"/topics/{topic}/subscriptions/{name}") for name in names}

    async def note_groups(self) -> None:
        for group, name in GROUPS.items():
            topic = self._topic(name)
            stats = (await self._subscriptions(topic)).get(group)
            if stats is not None:
                positions = {str(each["partition"]): each["mark_delete"] + 1 for each in stats["cursors"]}
                self._recorder.note("group_offsets", group=group, topic=topic, positions=positions)

    # -- retention -----------------------------------------------------------------------------------------------------

    async def expire(self, topics: Sequence[str]) -> None:
        """From now on retention removes every record that is older than a second."""
        for topic in topics:
            await self.call(
                "PATCH", f"/topics/{topic}", {"settings": {"retention_ms": 1_000, "ledger_age_ms_max": 1_000}}
            )

    async def records(self, topics: Sequence[str]) -> int:
        """How many offsets the logs span."""
        states = [each for topic in topics for each in (await self.call("GET", f"/topics/{topic}"))["partition_states"]]
        return sum(each["end_offset"] - each["start_offset"] for each in states)

    # -- the log -------------------------------------------------------------------------------------------------------

    async def read_all(self) -> None:
        """Reads every partition at every broker, committed and uncommitted, over HTTP, and once over Kafka."""
        for name, broker in self._processes.brokers.items():
            context = self._context._replace(urls=[broker.url])
            for topic in self._context.topics:
                for partition in range(PARTITIONS):
                    for isolation in ("read_committed", "read_uncommitted"):
                        await self._read(context, topic, partition, isolation, name)
        await self._read_over_kafka()

    async def _read(self, context: Context, topic: str, partition: int, isolation: str, broker: str) -> None:
        offset, tries = 0, 0
        while True:
            try:
                answer = await rest.read_page(
                    context, self._http, topic, partition, offset, isolation, FINAL, broker
                )  # fmt: skip
            except (rest.Refused, rest.Unknown):
                tries += 1
                assert tries < TRIES_MAX, f"{topic}-{partition} cannot be read at {broker}"
                await asyncio.sleep(TRY_EVERY_S)
                continue
            if answer["next_offset"] <= offset:
                return
            offset = answer["next_offset"]

    async def digest(self, topic: str, partition: int) -> str:
        """Of the committed records of a partition."""
        found, offset = Digest(), 0
        while True:
            query = f"offset={offset}&isolation=read_committed&as=text"
            answer = await self.call("GET", f"/topics/{topic}/partitions/{partition}/records?{query}")
            for each in answer["records"]:
                found.add(each["offset"], each["text"])
            if answer["next_offset"] <= offset:
                return found.text
            offset = answer["next_offset"]

    async def _read_over_kafka(self) -> None:
        """Records what a consumer gets up to its high watermark as one read of each partition."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._processes.kafka("left"), isolation_level="read_committed", enable_auto_commit=False
        )
        every = [TopicPartition(topic, partition) for topic in self._context.topics for partition in range(PARTITIONS)]
        consumer.assign(every)
        await consumer.start()
        try:
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(every)
            facts = {"isolation": "read_committed", "reader": "final.kafka", "broker": "kafka"}
            ops = {at: self._recorder.invoke("read", topic=at.topic, partition=at.partition, **facts) for at in every}
            records: dict[TopicPartition, list[Any]] = {at: [] for at in every}
            async with asyncio.timeout(120):
                while [at for at in every if await consumer.position(at) < ends[at]]:
                    for at, some in (await consumer.getmany(timeout_ms=200)).items():
                        records[at] += [[at.partition, each.offset, each.value.decode()] for each in some]
            for at in every:
                self._recorder.ok("read", ops[at], records=records[at], **{"from": 0, "next": ends[at]})
        finally:
            await consumer.stop()
