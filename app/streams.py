"""Importing a plain Redis stream into a topic: every entry a record, once each, and its groups as subscriptions.

    entry 1700000000000-3 {order: 7, amount: 12}
      ─▶ value {"order": "7", "amount": "12"}, or one field's bytes as they are
         key: a field;  timestamp: of the id;  header redis-stream-id: the id

Entries are written STEP at a time, each step in one transaction, and the id of the last one is in the topic itself: an
import that was killed reads it there and goes on behind it.  The order of the stream holds within a partition.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from redis_ledger.client import AsyncClient, Message, Record
from redis_ledger.client.models import PartitionState
from redis_ledger.store.store import ReplyError, Store

ID_HEADER = "redis-stream-id"
STEP = 1_000
LOOK_BACK = 64  # newest records of a partition that are looked through for an id


class Id(NamedTuple):
    """Of a stream entry; ids are compared as pairs of numbers."""

    ms: int
    sequence: int

    @classmethod
    def parse(cls, text: str) -> Id:
        ms, _, sequence = text.partition("-")
        return cls(int(ms), int(sequence or 0))

    def __str__(self) -> str:
        return f"{self.ms}-{self.sequence}"


NEVER = Id(0, 0)


class Entry(NamedTuple):
    id: Id
    fields: dict[bytes, bytes]


@dataclass(frozen=True)
class Shape:
    """How an entry becomes a record.  value_field None: all fields as a JSON object."""

    key_field: str | None = None
    value_field: str | None = None

    def record(self, entry: Entry) -> Record:
        """Raises KeyError for a field the entry lacks."""
        if self.value_field is None:
            value: Any = {_text(name): _text(each) for name, each in entry.fields.items()}
            value = json.dumps(value, ensure_ascii=False).encode()
        else:
            value = entry.fields[self.value_field.encode()]
        key = None if self.key_field is None else entry.fields[self.key_field.encode()]
        return Record(value, key=key, headers={ID_HEADER: str(entry.id)}, timestamp_ms=entry.id.ms)


class Stream:
    """The stream that is read.  name: its key, whole."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._key = store, name.encode()

    async def exists(self) -> bool:
        return bool(await self._store.command("TYPE", self._key, key=self._key) == b"stream")

    async def after(self, id: Id) -> list[Entry]:
        """The next STEP entries behind an id."""
        rows = await self._store.command("XRANGE", self._key, f"({id}", "+", "COUNT", STEP, key=self._key)
        return [Entry(Id.parse(at.decode()), dict(zip(row[::2], row[1::2], strict=True))) for at, row in rows]

    async def length(self) -> int:
        return int(await self._store.command("XLEN", self._key, key=self._key))

    async def groups(self) -> dict[str, Id]:
        """Groups of the stream → the id up to which all is acknowledged; what is pending behind it is got again."""
        try:
            rows = await self._store.command("XINFO", "GROUPS", self._key, key=self._key)
        except ReplyError:
            return {}
        found = {}
        for row in rows:
            facts = dict(zip(row[::2], row[1::2], strict=True))
            name, done = facts[b"name"].decode(), Id.parse(facts[b"last-delivered-id"].decode())
            pending = await self._store.command("XPENDING", self._key, name, key=self._key)
            if pending[0]:
                first = Id.parse(pending[1].decode())
                done = Id(first.ms, first.sequence - 1) if first.sequence else Id(first.ms - 1, (1 << 63) - 1)
            found[name] = done
        return found


async def newest_id(client: AsyncClient, topic: str) -> Id:
    """The id of the last entry that was imported; NEVER for a topic without any."""
    newest = NEVER
    for state in (await client.topics.describe(topic)).partition_states:
        newest = max(newest, await _newest_of(client, topic, state))
    return newest


async def _newest_of(client: AsyncClient, topic: str, state: PartitionState) -> Id:
    """Others may write to the topic too: it is looked back until an id is found."""
    back = LOOK_BACK
    while True:
        begin = max(state.start_offset, state.stable_offset - back)
        ids = [id_of(message) async for message in client.read(topic, state.partition, begin)]
        newest = max((each for each in ids if each is not None), default=NEVER)
        if newest != NEVER or begin <= state.start_offset:
            return newest
        back *= 8


def id_of(message: Message) -> Id | None:
    held = message.headers.get(ID_HEADER)
    return None if held is None else Id.parse(held.decode())


async def carry(client: AsyncClient, stream: Stream, topic: str, shape: Shape) -> AsyncIterator[int]:
    """Imports all that is there, and yields how much after every step.  Raises KeyError as Shape.record does."""
    at = await newest_id(client, topic)
    while entries := await stream.after(at):
        await client.execute(records={topic: [shape.record(each) for each in entries]})
        at = entries[-1].id
        yield len(entries)


async def carry_groups(client: AsyncClient, topic: str, groups: dict[str, Id]) -> None:
    """A subscription for each group, at the first record that the group has not acknowledged."""
    partitions = [each.partition for each in (await client.topics.describe(topic)).partition_states]
    for name, done in groups.items():
        await client.subscriptions.create(topic, name)
        offsets = {partition: await _behind(client, topic, partition, done) for partition in partitions}
        await client.subscriptions.seek(topic, name, offsets=offsets)


async def _behind(client: AsyncClient, topic: str, partition: int, done: Id) -> int:
    """The offset of the first record of an entry behind an id; the end when there is none."""
    found = await client.topics.offset_at(topic, partition, done.ms)
    offset = found.offset
    async for message in client.read(topic, partition, offset):
        at = id_of(message)
        if at is not None and at > done:
            return message.offset
        offset = message.offset + 1
    return offset


def _text(data: bytes) -> str:
    """JSON has no bytes: what is not UTF-8 is told as the characters of the same numbers."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def missing_field(entries: Sequence[Entry], shape: Shape) -> str | None:
    """A field that is asked for and that none of the entries has."""
    wanted = [each for each in (shape.key_field, shape.value_field) if each is not None]
    return next((each for each in wanted if not any(each.encode() in one.fields for one in entries)), None)
