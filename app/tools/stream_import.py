"""Importing a plain Redis stream into a topic: every entry a record, once each, and its groups as subscriptions.

    entry 1700000000000-3 {order: 7, amount: 12}
      ─▶ value {"order": "7", "amount": "12"}, or one field's bytes as they are
         key: a field;  timestamp: of the id;  headers redis-stream, redis-stream-id: the stream's key and the id

Entries are written STEP at a time, each step in one transaction, and the id of the last one is in the topic itself: an
import that was killed reads it there and goes on behind it.  The order of the stream holds within a partition, and
several streams may go into one topic.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from redis_ledger.client import AsyncClient, Message, Record
from redis_ledger.client.models import PartitionState
from redis_ledger.store.store import ReplyError, Store

STREAM_HEADER, ID_HEADER = "redis-stream", "redis-stream-id"
STEP = 1_000
STEP_BYTES = 2 << 20  # of fields: as JSON they may become six times as large
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
    """How an entry of the stream becomes a record.  value_field None: all fields as a JSON object."""

    stream: str
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
        return Record(value, key=key, headers=self._headers(entry.id), timestamp_ms=entry.id.ms)

    def _headers(self, id: Id) -> dict[str, str]:
        return {STREAM_HEADER: self.stream, ID_HEADER: str(id)}


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

    @property
    def name(self) -> str:
        return self._key.decode()

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


async def newest_id(client: AsyncClient, topic: str, stream: str) -> Id:
    """The id of the last entry of the stream that was imported; NEVER for a topic without any."""
    newest = NEVER
    for state in (await client.topics.describe(topic)).partition_states:
        newest = max(newest, await _newest_of(client, topic, state, stream))
    return newest


async def _newest_of(client: AsyncClient, topic: str, state: PartitionState, stream: str) -> Id:
    """Others may write to the topic too: it is looked back until an id is found."""
    back = LOOK_BACK
    while True:
        begin = max(state.start_offset, state.stable_offset - back)
        ids = [id_of(message, stream) async for message in client.read(topic, state.partition, begin)]
        newest = max((each for each in ids if each is not None), default=NEVER)
        if newest != NEVER or begin <= state.start_offset:
            return newest
        back *= 8


def id_of(message: Message, stream: str) -> Id | None:
    """None for a record that is not of the stream."""
    held = message.headers.get(ID_HEADER)
    is_of_it = message.headers.get(STREAM_HEADER) in (stream.encode(), None)  # None: imported by an older release
    return Id.parse(held.decode()) if held is not None and is_of_it else None


async def carry(client: AsyncClient, stream: Stream, topic: str, shape: Shape) -> AsyncIterator[int]:
    """Imports all that is there, and yields how much after every step.  Raises KeyError as Shape.record does."""
    at = await newest_id(client, topic, stream.name)
    while entries := await stream.after(at):
        for some in _cut(entries):
            await client.execute(records={topic: [shape.record(each) for each in some]})
            at = some[-1].id
            yield len(some)


def _cut(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Each as much as one request may carry."""
    some, size = list[Entry](), 0
    for entry in entries:
        more = sum(len(name) + len(each) for name, each in entry.fields.items())
        if some and size + more > STEP_BYTES:
            yield some
            some, size = [], 0
        some.append(entry)
        size += more
    if some:
        yield some


async def carry_groups(client: AsyncClient, topic: str, stream: str, groups: dict[str, Id]) -> None:
    """A subscription for each group, at the first record that the group has not acknowledged.

    One that is there already is only moved ahead: over records of this stream, that its group has acknowledged and that
    it has not delivered itself.
    """
    there = {each.name for each in await client.subscriptions.list(topic)}
    for name, done in groups.items():
        stats = await client.subscriptions.create(topic, name)
        offsets = {}
        for cursor in stats.cursors:
            begin = cursor.read
            if name not in there:
                begin = (await client.topics.offset_at(topic, cursor.partition, done.ms)).offset
            offset = await _behind(client, topic, cursor.partition, stream, done, begin)
            if offset > cursor.read:
                offsets[cursor.partition] = offset
        if offsets:
            await client.subscriptions.seek(topic, name, offsets=offsets)


async def _behind(client: AsyncClient, topic: str, partition: int, stream: str, done: Id, begin: int) -> int:
    """The first offset from `begin` on that is not of an entry of the stream up to an id."""
    offset = begin
    async for message in client.read(topic, partition, begin):
        at = id_of(message, stream)
        if at is None or at > done:
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
