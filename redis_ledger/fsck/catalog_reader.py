"""Reads the catalog for fsck, and looks through all keys for those that nothing refers to.

The catalog is read after the keys, so the keys of a topic that is made meanwhile are no orphans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec

from redis_ledger.fsck.finding import Edit, Finding, Write, edit, hget
from redis_ledger.fsck.key_table import KeyName, orphan, parse_key
from redis_ledger.fsck.keyspace import Keyspace
from redis_ledger.ledger.topic_entry import TopicEntry
from redis_ledger.store.keys import CatalogKeys, GroupKeys, PartitionKeys, key_pattern, witness
from redis_ledger.store.reading import Reading

WHERE = "catalog"
FIRST_DELAY_LEDGER = "-1"
MEMBER = b"m:"  # begins the field of a member of a group
TYPES = {"topics": "hash", "state": "hash", "brokers": "zset", "addresses": "hash", "groups": "hash", "users": "hash",
         "acls": "hash", "tokens": "hash", "quotas": "hash", "batchedwrites": "hash", "deadletters": "hash",
         "redelivery": "hash", "audit": "stream", "epochs": "hash", "claim": "string"}  # fmt: skip


class CatalogReader:
    def __init__(self, reading: Reading, keyspace: Keyspace) -> None:
        self._reading, self._keyspace, self._prefix = reading, keyspace, reading.store.prefix
        self._k = CatalogKeys(self._prefix)

    async def look(self) -> list[Finding]:
        found, names = await self._types(), await self._names()
        topics, coordinators = dict[str, int](), 0
        for name in names.values():
            if name.kind == "partition":
                topics[name.topic] = max(topics.get(name.topic, 0), name.number + 1)
            elif name.kind == "coordinator":
                coordinators = max(coordinators, name.number + 1)
        entries = await self._entries(topics)
        found += entries if entries else await self._epochs()  # an entry that is missing may have epochs
        found += await self._state(coordinators)
        found += await self._metadata()
        return found + await self._groups()

    async def _types(self) -> list[Finding]:
        found = []
        for name, wanted in TYPES.items():
            key: bytes = getattr(self._k, name)
            stored = (await self._reading.command(key, "TYPE", key) or b"none").decode()
            if stored not in (wanted, "none"):
                detail = f"The key {key.decode()} is a {stored}; it must be a {wanted}."
                found.append(Finding("key_type", WHERE, key.decode(), "", detail))
        return found

    # -- keys --------------------------------------------------------------------------------------------------------

    async def look_through(self) -> list[Finding]:
        """Keys that nothing refers to."""
        return await self._orphans(await self._names())

    async def _names(self) -> dict[bytes, KeyName]:
        """Every key of a partition or a coordinator, and those of no known name."""
        names = dict[bytes, KeyName]()
        async for keys in self._reading.store.scan(key_pattern(self._prefix)):
            for key in keys:
                name = parse_key(self._prefix, key)
                if name.kind != "other":
                    names[key] = name
            await asyncio.sleep(0)  # let other tasks run
        return names

    async def _orphans(self, names: dict[bytes, KeyName]) -> list[Finding]:
        entries, coordinators = await self._keyspace.entries(), await self._keyspace.coordinators()
        found = []
        for key, name in names.items():
            if name.kind == "coordinator":
                if name.number >= coordinators:
                    found.append(orphan(WHERE, key, f"coordinator {name.number}, which does not exist"))
                continue
            if name.kind == "unknown":
                text = key.decode(errors="replace")
                found.append(Finding("key_unknown", WHERE, text, "", f"The key {text} has no meaning here."))
                continue
            entry = entries.get(name.topic)
            if entry is not None and entry.state == "deleting":
                continue
            if entry is not None and name.number >= entry.partitions:
                found.append(orphan(WHERE, key, f"partition {name.number}, which topic {name.topic} does not have"))
            elif entry is not None and (name.ledger or name.snapshot or name.subscription):
                why = await self._unreferenced(name)
                if why:
                    found.append(await self._unlisted(key, name, why))
        return found

    async def _unreferenced(self, name: KeyName) -> str:
        """What does not exist that the key belongs to; "" if it exists."""
        k = PartitionKeys(self._prefix, name.topic, name.number)
        if name.ledger == FIRST_DELAY_LEDGER:
            return ""  # it is made with the partition, and has a row when something is scheduled
        if name.ledger:
            hash_, field, what = k.ledgers, name.ledger, f"ledger {name.ledger}, which has no row"
        elif name.snapshot:
            hash_, field, what = k.delay.snaps, name.snapshot, f"snapshot {name.snapshot}, which is not listed"
        else:
            hash_, field, what = k.subs, name.subscription, f"subscription {name.subscription}, which is not listed"
        return "" if await self._reading.command(k.state, "HEXISTS", hash_, field) else what

    async def _unlisted(self, key: bytes, name: KeyName, why: str) -> Finding:
        """A cursor that the partition does not list: both are made and deleted together, so the list has lost it."""
        k, where = PartitionKeys(self._prefix, name.topic, name.number), f"{name.topic}:{name.number}"
        cursor = k.sub(unquote(name.subscription)).cursor
        kind = await self._reading.command(k.state, "HGET", cursor, "kind") if name.subscription else None
        if not kind:
            return orphan(where, key, why)
        guards = [hget(cursor, "kind", kind), hget(k.subs, name.subscription, None)]
        repair = edit(guards, ("HSET", k.subs, name.subscription, kind))
        detail = f"The partition does not list subscription {name.subscription}, of kind {kind.decode()}."
        return Finding("subscription", where, k.subs.decode(), name.subscription, detail, repair)

    # -- topics ------------------------------------------------------------------------------------------------------

    async def _entries(self, topics: dict[str, int]) -> list[Finding]:
        """Entries that cannot be read, and topics that have partitions and no entry."""
        found, readable, k = list[Finding](), await self._keyspace.entries(), self._k
        stored: dict[str, bytes] = {}
        async for page in self._reading.rows(k.topics, k.topics):
            stored |= {name.decode(errors="replace"): row for name, row in page}
        for name in sorted(stored.keys() - readable.keys()):
            detail = f"The entry of topic {name!r} cannot be read."
            repair = await self._rebuilt(name, topics.get(name, 0), stored[name])
            found.append(Finding("catalog_entry", WHERE, k.topics.decode(), name, detail, repair))
        for name in sorted(topics.keys() - stored.keys()):
            repair = await self._rebuilt(name, topics[name], None)
            if repair is None:  # left by a deletion that was cut off, or by another program
                keys = PartitionKeys(self._prefix, name, 0).state
                found.append(orphan(WHERE, keys, f"topic {name}, which is not in the catalog"))
                continue
            detail = f"Topic {name!r} has {topics[name]} partitions and no entry."
            found.append(Finding("catalog_entry", WHERE, k.topics.decode(), name, detail, repair))
        return found

    async def _rebuilt(self, name: str, partitions: int, stored: bytes | None) -> Edit | None:
        k, state = self._k, PartitionKeys(self._prefix, name, 0).state
        topic_id, created = await self._reading.command(state, "HMGET", state, "topic_id", "created") or (None, None)
        if not topic_id or topic_id.startswith(b"deleted ") or not partitions:
            return None
        entry = TopicEntry(name, topic_id.decode(), partitions, "ready", int(created or 0), {})
        writes = (Write("HSET", k.topics, (name, entry.encoded())), Write("HINCRBY", k.state, ("version", 1)))
        return Edit((hget(k.topics, name, stored),), writes)

    async def _epochs(self) -> list[Finding]:
        """Leader epochs of topics that are deleted.  The epochs are read first: a topic is made before them."""
        k, rows = self._k, dict[bytes, bytes]()
        async for page in self._reading.rows(k.epochs, k.epochs):
            rows |= dict(page)
        topic_ids = {entry.id for entry in (await self._keyspace.entries()).values()} if rows else set()
        found = list[Finding]()
        for field, row in rows.items():
            topic_id, _, number = field.decode(errors="replace").rpartition(":")
            if topic_id not in topic_ids:
                detail = f"Topic {topic_id!r} no longer exists; the leader epoch of its partition {number} is left."
                repair = edit([hget(k.epochs, field, row)], ("HDEL", k.epochs, field))
                found.append(Finding("leader_epoch", WHERE, k.epochs.decode(), field.decode(), detail, repair))
        return found

    # -- state -------------------------------------------------------------------------------------------------------

    async def _state(self, coordinators: int) -> list[Finding]:
        k, found = self._k, list[Finding]()
        state = await self._fields()
        right: dict[str, Any] = {}
        if _number(state.get(b"coordinators")) < coordinators:
            right["coordinators"] = coordinators
        has_topics = bool(await self._reading.command(k.topics, "HLEN", k.topics))
        for name, default in (("version", 1), ("format", 1)):
            # Brokers store a missing format. The first topic brings the first version.
            stored = state.get(name.encode(), b"" if name == "version" and has_topics else b"1")
            if state and not stored.isdigit():
                right[name] = default
        if not state.get(b"cluster"):
            cluster = await self._cluster()
            if cluster:
                right["cluster"] = cluster
            elif coordinators:
                detail = "The cluster id is missing; the first broker that starts makes another one."
                found.append(Finding("catalog_state", WHERE, k.state.decode(), "cluster", detail))
        for name, value in right.items():
            before = state.get(name.encode())
            detail = f"The field {name!r} is {before!r}; it must be {value!r}."
            repair = edit([hget(k.state, name, before)], ("HSET", k.state, name, value))
            found.append(Finding("catalog_state", WHERE, k.state.decode(), name, detail, repair))
        return found

    async def _fields(self) -> dict[bytes, bytes]:
        return {name: row async for page in self._reading.rows(self._k.state, self._k.state) for name, row in page}

    async def _cluster(self) -> bytes:
        """The cluster id as a running broker, or a witness, has it."""
        for key in (self._k.claim, *(witness(self._prefix, number) for number in range(4))):
            found = await self._reading.command(key, "GET", key)
            if found:
                return bytes(found)
        return b""

    # -- other metadata ----------------------------------------------------------------------------------------------

    async def _metadata(self) -> list[Finding]:
        k, found = self._k, list[Finding]()
        for name in ("users", "tokens", "quotas", "batchedwrites", "deadletters", "redelivery", "addresses", "epochs"):
            key: bytes = getattr(k, name)
            async for page in self._reading.rows(key, key):
                found += [self._unreadable(key, field) for field, row in page if not _is_json(row)]
        async for fields in self._reading.fields(k.acls, k.acls):
            found += [self._unreadable(k.acls, field) for field in fields if not _is_json(field)]
        for key in (k.deadletters, k.redelivery):
            async for fields in self._reading.fields(key, key):
                found += [self._unreadable(key, field) for field in fields if not _is_json(field)]
        return found

    def _unreadable(self, key: bytes, field: bytes) -> Finding:
        shown = field.decode(errors="replace")
        detail = f"The entry {shown!r} of {key.decode()} cannot be read."
        return Finding("metadata", WHERE, key.decode(), shown, detail)

    async def _groups(self) -> list[Finding]:
        found = []
        async for page in self._reading.rows(self._k.groups, self._k.groups):
            for name, _ in page:
                found += await self._group(name)
        return found

    async def _group(self, encoded: bytes) -> list[Finding]:
        key = GroupKeys(self._prefix, unquote(encoded.decode())).state
        before = await self._reading.command(key, "HMGET", key, "members", "membership", "told", "generation")
        if before is None:
            stored = (await self._reading.command(key, "TYPE", key) or b"none").decode()
            detail = f"The key {key.decode()} is a {stored}; it must be a hash."
            return [Finding("key_type", f"group {encoded.decode()}", key.decode(), "", detail)]
        count = 0
        async for fields in self._reading.fields(key, key):
            count += sum(field.startswith(MEMBER) for field in fields)
        after = await self._reading.command(key, "HMGET", key, "members", "membership", "told", "generation")
        if before != after:
            return []
        return list(_check_group(encoded.decode(), key, after, count))


def _check_group(name: str, key: bytes, fields: list[bytes | None], count: int) -> Iterable[Finding]:
    members, _, told, generation = fields
    where = f"group {name}"
    if (members is not None or count) and _number(members) != count:
        detail = f"The group has {count} members; the field 'members' is {members!r}."
        guards = [hget(key, "members", members), hget(key, "told", told)]
        repair = edit(guards, ("HSET", key, "members", count))
        yield Finding("group", where, key.decode(), "members", detail, repair)
    for field, value in (("generation", generation), ("told", told)):
        if value is not None and not value.lstrip(b"-").isdigit():
            detail = f"The field {field!r} is {value!r}."
            other = told if field == "generation" else generation
            right = int(other) if other and other.lstrip(b"-").isdigit() else 0
            repair = edit([hget(key, field, value)], ("HSET", key, field, right))
            yield Finding("group", where, key.decode(), field, detail, repair)


def _number(text: bytes | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return text == b""
    return True
