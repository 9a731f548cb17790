"""Imports a Redis stream into a topic, exactly once: entries become records, groups become subscriptions.

    entry 1700000000000-3 {order: 7, amount: 12}
      ─▶ value {"order": "7", "amount": "12"}, or the bytes of one field
         key: a field;  timestamp: from the id;  headers redis-stream, redis-stream-id: the stream's key and the entry's
         id

STEP entries are written per transaction.  The id of the last imported entry is in the topic itself, so an import that
was killed continues after it.  The order of the stream is preserved within a partition, and several streams may be
imported into one topic.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from redis_ledger.client import AsyncClient, Message, Record
from redis_ledger.client.models import PartitionState
from redis_ledger.store.store import ReplyError, Store

STREAM_HEADER, ID_HEADER = "redis-stream", "redis-stream-id"
STEP = 1_000
STEP_BYTES = 2 << 20  # size of the fields: as JSON they may become six times larger
PAGE_BYTES = 16 << 20  # about as much is read from the stream at a time
ID = re.compile(rb"\d{1,20}-\d{1,20}")
LOOK_BACK = 64  # number of newest records of a partition to search for an id


class Id(NamedTuple):
    """The id of a stream entry; ids are compared as pairs of numbers."""

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
    """The conversion of an entry to a record.  value_field None: all fields as a JSON object."""

    stream: str
    key_field: str | None = None
    value_field: str | None = None

    def record(self, entry: Entry) -> Record:
        """Raises KeyError for a field that the entry does not have."""
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
    """The source stream.  name: its complete key."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._key = store, name.encode()
        self._page = 16  # the number of entries to read next

    async def exists(self) -> bool:
        return bool(await self._store.command("TYPE", self._key, key=self._key) == b"stream")

    async def after(self, id: Id) -> list[Entry]:
        """The next entries after an id, at most STEP; none at the end of the stream."""
        rows = await self._store.command("XRANGE", self._key, f"({id}", "+", "COUNT", self._page, key=self._key)
        size = 1 + sum(len(each) for _, row in rows for each in row)
        self._page = min(max(self._page * PAGE_BYTES // size, 1), self._page * 2, STEP)
        return [Entry(Id.parse(at.decode()), dict(zip(row[::2], row[1::2], strict=True))) for at, row in rows]

    @property
    def name(self) -> str:
        return self._key.decode()

    async def length(self) -> int:
        return int(await self._store.command("XLEN", self._key, key=self._key))

    async def groups(self) -> dict[str, Id]:
        """Groups of the stream → the id up to which all entries are acknowledged; later pending entries are
        redelivered.
        """
        try:
            rows = await self._store.command("XINFO", "GROUPS", self._key, key=self._key)
        except ReplyError:
            return {}
        found = {}
        for row in rows:
            facts = dict(zip(row[::2], row[1::2], strict=True))
            name, done = _text(facts[b"name"]), Id.parse(facts[b"last-delivered-id"].decode())
            pending = await self._store.command("XPENDING", self._key, facts[b"name"], key=self._key)
            if pending[0]:
                first = Id.parse(pending[1].decode())
                done = Id(first.ms, first.sequence - 1) if first.sequence else Id(first.ms - 1, (1 << 63) - 1)
            found[name] = done
        return found


async def newest_id(client: AsyncClient, topic: str, stream: str) -> Id:
    """The id of the last imported entry of the stream; NEVER if there is none."""
    newest = NEVER
    for state in (await client.topics.describe(topic)).partition_states:
        newest = max(newest, await _newest_of(client, topic, state, stream))
    return newest


async def _newest_of(client: AsyncClient, topic: str, state: PartitionState, stream: str) -> Id:
    """Searches backwards for an id, because other producers may write to the topic too."""
    back = LOOK_BACK
    while True:
        begin = max(state.start_offset, state.stable_offset - back)
        ids = [id_of(message, stream) async for message in client.read(topic, state.partition, begin)]
        newest = max((each for each in ids if each is not None), default=NEVER)
        if newest != NEVER or begin <= state.start_offset:
            return newest
        back *= 8


def id_of(message: Message, stream: str) -> Id | None:
    """The id in a record's headers; None if the record is not from the stream."""
    held = message.headers.get(ID_HEADER)
    if held is None or not ID.fullmatch(held) or message.headers.get(STREAM_HEADER) != stream.encode():
        return None
    return Id.parse(held.decode())


async def carry(client: AsyncClient, stream: Stream, topic: str, shape: Shape) -> AsyncIterator[int]:
    """Imports all entries and yields the number of each step.  Raises KeyError as Shape.record does."""
    at = await newest_id(client, topic, stream.name)
    while entries := await stream.after(at):
        for some in _cut(entries):
            await client.execute(records={topic: [shape.record(each) for each in some]})
            at = some[-1].id
            yield len(some)


def _cut(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Splits entries so that each part fits into a request."""
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
    """Creates a subscription for each group, at the first record that the group has not acknowledged.

    An existing subscription is only advanced: past records of this stream that the group has acknowledged and the
    subscription has not delivered.
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
    """The first offset from `begin` on whose record is not an entry of the stream up to the id."""
    offset = begin
    async for message in client.read(topic, partition, begin):
        at = id_of(message, stream)
        if at is None or at > done:
            return message.offset
        offset = message.offset + 1
    return offset


def _text(data: bytes) -> str:
    """Decodes UTF-8; other bytes become the characters with the same numbers, because JSON has no bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def missing_field(entries: Sequence[Entry], shape: Shape) -> str | None:
    """Returns a required field that none of the entries has."""
    wanted = [each for each in (shape.key_field, shape.value_field) if each is not None]
    return next((each for each in wanted if not any(each.encode() in one.fields for one in entries)), None)
