"""Drives the scripts of lua/cursor/ directly and looks into the keys of a subscription, for tests.

Replies are decoded as far as reading them needs: statuses are Status, bytes become text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from redis import Redis
from redis.cluster import ClusterNode, RedisCluster

from redis_ledger.cursor import ack_chunks
from redis_ledger.cursor.ranges import Range, flat, to_ranges
from redis_ledger.store.keys import encode_name
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script, folder
from tests.support.fake_log import TOPIC_ID, FakeLog
from tests.support.script_functions import run_script

CHUNK = 8192
NOW = 1_000_000
ACK_TIMEOUT, SESSION = 30_000, 10_000


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A synchronous client of a `redis://` or `redis+cluster://` server."""
    scheme, _, hosts = url.partition("://")
    if scheme == "redis+cluster":
        nodes = [ClusterNode(host, int(port)) for host, port in (node.split(":") for node in hosts.split(","))]
        client: Any = RedisCluster(startup_nodes=nodes)
    else:
        client = Redis.from_url(url)
    try:
        yield client
    finally:
        client.close()


class Got(NamedTuple):
    """offsets → how often delivered before; and what else receive says."""

    offsets: dict[int, int]
    mark: int
    read: int
    stable: int
    more: bool
    next_due: int


class CursorContent(NamedTuple):
    """Every offset a subscription knows about, by where it is kept."""

    mark: int
    read: int
    bits: set[int]
    leases: dict[int, tuple[str, int, int]]  # offset → consumer, count, deadline
    pending: dict[int, tuple[str, int]]  # offset → transaction, count
    fields: dict[str, str]


def _settling(body: str) -> Script:
    """A script around include/end_pending_acks, which otherwise runs inside txn/end only."""
    parts = [
        (folder() / "include" / f"{name}.lua").read_text()
        for name in (
            "status", "stored_values", "cursor", "ack_chunk", "acks", "slot_queues", "slot_leases", "slot_queues_saved",
            "consumers", "unacked", "pending_acks", "group_offset", "end_pending_acks",
        )
    ]  # fmt: skip
    source = "\n".join(["#!lua flags=allow-oom", *parts, body]).encode()
    return Script("tests/settle", source)


OPENED = "local c = cursors.open(KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6])\nif not c then return 0 end\n"
SETTLE = _settling(
    OPENED
    + "local n = settle(c, ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4]))\ncursors.save(c)\nreturn n"
)
LEFTOVERS = _settling(
    OPENED
    + "local function over(c, s) return c == ARGV[1] and (#s < #ARGV[2] or (#s == #ARGV[2] and s <= ARGV[2])) end\n"
    + "local n = settle_leftovers(c, over, tonumber(ARGV[3]), 1000)\ncursors.save(c)\nreturn n"
)


class Subscription:
    """One subscription of a FakeLog.  `now` is the time of every call; move it as you like."""

    def __init__(self, log: FakeLog, name: str = "sub", kind: str = "shared", start: Any = "earliest") -> None:
        self.log, self.name, self.kind = log, name, kind
        self.keys = log.keys.sub(name)
        self.now = NOW
        self.created = self.create(kind, start)

    def run(self, script: str | Script, keys: Any, *args: Any) -> list[Any]:
        script = Script.load(script) if isinstance(script, str) else script
        reply = run_script(self.log.client, script, keys, args)
        if not isinstance(reply, list):
            return [reply]
        return [Status(reply[0]), *(value.decode() if isinstance(value, bytes) else value for value in reply[1:])]

    def create(
        self,
        kind: str,
        start: Any = "earliest",
        *,
        incarnation: str = "first",
        partitions: Any = 1,
        replaces: bool = False,
    ) -> list[Any]:
        """replaces: whether a leftover may be replaced, which waits while the slot moves."""
        p = self.log.keys
        none = (p.none,) if replaces else ()
        args = (TOPIC_ID, encode_name(self.name), kind, start, self.now, incarnation, partitions)
        return self.run("cursor/create", (p.state, p.subs, *self.keys.all(), *none), *args)

    def delete(self, incarnation: str = "*") -> list[Any]:
        p = self.log.keys
        args = (TOPIC_ID, encode_name(self.name), incarnation)
        return self.run("cursor/delete", (p.state, p.subs, *self.keys.all()), *args)

    def own(self, consumer: str = "c1", *, take: bool = True, pause: tuple[int, int] | None = None) -> list[Any]:
        """pause: how many ms ago one of Redis began and ended."""
        times = ("", "") if pause is None else (self.now - pause[0], self.now - pause[1])
        args = (TOPIC_ID, consumer, self.now, SESSION, int(take), *times)
        return self.run("cursor/claim", (self.log.keys.state, self.keys.cursor), *args)

    def leave(self, consumer: str = "c1") -> list[Any]:
        return self.run("cursor/leave", (self.log.keys.state, self.keys.cursor), TOPIC_ID, consumer)

    def receive_raw(
        self,
        consumer: str,
        most: int = 100,
        *,
        most_bytes: int = 1 << 20,
        epoch: Any = None,
        after: Any = "",
        unseen: bool = True,
        request: str = "",
        again: int = 0,
        topic_id: str = TOPIC_ID,
        limits: tuple[int, int] = (0, 0),
    ) -> list[Any]:
        """epoch None: that of the consumer's ownership, which it takes first if the subscription is exclusive."""
        p = self.log.keys
        if epoch is None:
            epoch = ""
            if self.kind in ("exclusive", "failover"):
                status, epoch, *_ = owned = self.own(consumer)
                if status != Status.OK:
                    return owned
        args = (
            topic_id, consumer, self.now, most, most_bytes, ACK_TIMEOUT, SESSION, epoch, after, int(unseen), request,
            again, *limits,
        )  # fmt: skip
        return self.run("cursor/receive", (p.state, p.log, p.aborted, *self.keys.all()), *args)

    def receive(self, consumer: str = "c1", most: int = 100, **more: Any) -> Got:
        reply = self.receive_raw(consumer, most, **more)
        assert reply[0] == Status.OK, reply
        offsets: dict[int, int] = {}
        for i in range(6, len(reply), 11):
            first, last, count, _, _, base, records = (int(value) for value in reply[i : i + 7])
            assert base <= first <= last < base + records
            for offset in range(first, last + 1):
                assert offset not in offsets, f"offset {offset} delivered twice in one call"
                offsets[offset] = count
        return Got(offsets, reply[1], reply[2], reply[3], reply[4] == 1, reply[5])

    def ack(self, offsets: Any, consumer: str = "c1", how: str = "all", most: int = 300) -> list[Any]:
        args = (TOPIC_ID, consumer, how, most, *flat(to_ranges(offsets)))
        return self.run("cursor/ack", (self.log.keys.state, *self.keys.all()), *args)

    def ack_cumulative(
        self, offset: int, consumer: str = "c1", how: str = "all", most: int = 300, first: int = 0
    ) -> list[Any]:
        args = (TOPIC_ID, consumer, offset, how, most, first)
        return self.run("cursor/ack_cumulative", (self.log.keys.state, *self.keys.all()), *args)

    def hold(self, txn: str, offsets: Any, consumer: str = "c1", how: str = "all", most: int = 300) -> list[Any]:
        return self._hold(txn, consumer, 0, how, most, self.now, *flat(to_ranges(offsets)))

    def hold_cumulative(
        self, txn: str, offset: int, consumer: str = "c1", how: str = "all", most: int = 300, first: int = 0
    ) -> list[Any]:
        return self._hold(txn, consumer, 1, how, most, self.now, offset, first)

    def _hold(self, txn: str, consumer: str, cumulative: int, *rest: Any) -> list[Any]:
        p = self.log.keys
        args = (TOPIC_ID, consumer, *txn.split("-"), cumulative, *rest)
        return self.run("cursor/pending_ack", (p.state, p.ended, p.watermarks, *self.keys.all()), *args)

    def settle(self, txn: str, *, commit: bool, room: int = 1000) -> int:
        return int(self.run(SETTLE, self.keys.all(), txn, int(commit), self.now, room)[0])

    def settle_leftovers(self, coordinator: int, watermark: int) -> int:
        return int(self.run(LEFTOVERS, self.keys.all(), coordinator, watermark, self.now)[0])

    def nack(
        self,
        offsets: Any = None,
        consumer: str = "c1",
        delay: int = 0,
        *,
        unseen: bool = False,
        request: str = "",
        most: int = 300,
        first: int = 0,
    ) -> list[Any]:
        args = (TOPIC_ID, consumer, self.now, delay, int(unseen), request, most, first)
        ranges = flat(to_ranges(offsets or ()))
        return self.run("cursor/nack", (self.log.keys.state, *self.keys.all()), *args, *ranges)

    def extend(
        self, offsets: Any = None, consumer: str = "c1", *, wait: Any = ACK_TIMEOUT, most: int = 300, first: int = 0
    ) -> list[Any]:
        args = (TOPIC_ID, consumer, self.now, wait, SESSION, most, first)
        ranges = flat(to_ranges(offsets or ()))
        return self.run("cursor/extend", (self.log.keys.state, *self.keys.all()), *args, *ranges)

    def seek(self, where: Any, fence: Any = "") -> list[Any]:
        return self.run("cursor/seek", (self.log.keys.state, *self.keys.all()), TOPIC_ID, where, fence, self.now)

    def snapshot(self) -> tuple[int, list[Range]]:
        """The mark, and what is acknowledged beyond it."""
        mark, read, ahead = (
            int(each or 0) for each in self.log.client.hmget(self.keys.cursor, "mark", "read", "ahead")
        )
        return mark, ack_chunks.ranges(self.log.client.hgetall(self.keys.acks), mark, max(read, ahead))

    def restore(self, mark: int, ranges: Iterable[Range], *, kind: str = "", topic_id: str = TOPIC_ID) -> list[Any]:
        ranges = list(ranges)
        fields = ack_chunks.fields_of(ranges, 4096)
        assert fields is not None
        ahead = ranges[-1].last + 1 if ranges else mark
        args = (topic_id, kind or self.kind, mark, ahead, *(each for field in fields.items() for each in field))
        return self.run("cursor/restore", (self.log.keys.state, *self.keys.all(), self.log.keys.none), *args)

    def stats(self, entries_max: int = 1000) -> dict[str, Any]:
        p = self.log.keys
        reply = self.run("cursor/stats", (p.state, p.log, p.aborted, *self.keys.all()), TOPIC_ID, entries_max)
        names = (
            "status kind mark read stable acked leased held backlog exact delivered redelivered consumer "
            "consumer_until created next_due waiting"
        ).split()
        return dict(zip(names, reply, strict=False))

    def with_unacked(self) -> set[str]:
        """Consumers that have unacknowledged records."""
        fields = self.log.client.hgetall(self.keys.cursor)
        return {k[1:].decode() for k, v in fields.items() if k[:1] == b"@" and int((v.split() + [b"0"] * 3)[2]) > 0}

    def leases(self) -> dict[int, tuple[str, int, int]]:
        """Offset → consumer, count, deadline.  Asserts that the indexes of leases have these."""
        leases: dict[int, tuple[str, int, int]] = {}
        with self.log.client.pipeline(transaction=False) as together:
            together.hgetall(self.keys.leases)
            together.zrange(self.keys.spans, 0, -1, withscores=True)
            together.zrange(self.keys.due, 0, -1, withscores=True)
            stored, spans, dues = together.execute()
        rows = {int(k): v.decode() for k, v in stored.items() if k.isdigit()}
        for first, text in rows.items():
            last, consumer, count, deadline, *_ = text.split(" ")
            for offset in range(first, int(last) + 1):
                assert offset not in leases, f"offset {offset} is in two leases"
                leases[offset] = (consumer, int(count), int(deadline))
        assert {int(k): v for k, v in spans if k} == {f: f for f in rows}
        due = {int(k): int(v) for k, v in dues if k}
        assert due == {first: leases[first][2] for first in rows}
        return leases

    def content(self) -> CursorContent:
        """Reads every structure and asserts the invariant: each offset from mark to read in exactly one place."""
        keys = self.keys
        with self.log.client.pipeline(transaction=False) as together:
            for key in (keys.cursor, keys.pending, keys.acks):
                together.hgetall(key)
            for key in keys.all():
                together.exists(key)
            cursor, held_rows, ack_rows, *there = together.execute()
        fields = {k.decode(): v.decode() for k, v in cursor.items()}
        mark, read = int(fields["mark"]), int(fields["read"])

        leases = self.leases()
        pending: dict[int, tuple[str, int]] = {}
        for txn, text in held_rows.items():
            holder, _, region = txn.decode().partition("/")
            head = held_rows[holder.encode()].decode()
            regions = re.search(r"\+(\S+) ", head)
            assert not region or (regions is not None and region in regions[1].split(","))
            for part in text.decode().rpartition(" ")[2].split(",") if txn else ():
                first, last, count = map(int, part.split("-"))
                for offset in range(max(first, mark), last + 1):
                    assert offset not in pending, f"offset {offset} is held twice"
                    pending[offset] = (holder, count)

        acks = {name: value for name, value in ack_rows.items() if name}
        forms = [re.fullmatch(rb"(8e9|9e9|)(\d+)", name) for name in acks]
        assert all(form is not None for form in forms), f"unknown fields among {list(acks)}"
        for form, value in zip(forms, acks.values(), strict=True):
            assert form is not None
            of, number = form[1], int(form[2])
            assert len(value) <= (CHUNK // 64 if of == b"9e9" else CHUNK // 8)
            assert number >= mark // (CHUNK * CHUNK if of == b"8e9" else CHUNK), "a chunk below the mark was kept"
        acked = {o for first, last in ack_chunks.ranges(acks, 0, 1 << 60) for o in range(max(first, mark), last + 1)}
        assert max(acked, default=-1) < max(read, int(fields.get("ahead", 0))), (
            "acknowledged beyond what was dispatched"
        )
        bits = {o for o in acked if o < read}

        held, leased = set(pending), set(leases)
        assert not bits & leased
        assert not bits & held
        assert not leased & held
        assert bits | leased | held == set(range(mark, read)), "an offset between mark and read is nowhere"
        assert mark == read or mark not in bits
        assert (int(fields["leased"]), int(fields["held"])) == (len(leased), len(held))
        assert int(fields["returned"]) == sum(consumer in ("", "%") for consumer, _, _ in leases.values())
        vanished = [key for key, is_there in zip(keys.all(), there, strict=True) if not is_there]
        assert vanished == []
        unacked: dict[str, int] = {}
        for consumer, _, _ in leases.values():
            unacked[consumer] = unacked.get(consumer, 0) + 1
        for txn, text in held_rows.items():
            for each in re.findall(r" @(\S+)", text.decode()) if b"/" not in txn else ():
                for part in each.split(","):
                    consumer, _, count = part.partition(":")
                    unacked[consumer] = unacked.get(consumer, 0) + int(count)
        shown = {k[1:]: int((v.split() + ["0"] * 3)[2]) for k, v in fields.items() if k.startswith("@")}
        if "tracked" in fields and fields["tracked"] != "-1":
            assert shown == {consumer: unacked.get(consumer, 0) for consumer in shown}
        return CursorContent(mark, read, bits, leases, pending, fields)
