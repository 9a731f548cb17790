"""Drives the scripts of lua/ledger/ and lua/txn/ directly and looks into every key they own, for tests.

Replies are decoded as far as reading them needs: statuses are Status, bytes become text.  `client` is a synchronous
redis-py client of the node that owns the slot.  `dump()` is all under the hash tag, to compare before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from redis_ledger.ids import TxnId
from redis_ledger.ledger.entries import Aborted, LogEntry, parse_aborted, parse_log
from redis_ledger.store.keys import CoordinatorKeys, PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.txn import log as txn_log
from redis_ledger.txn.operations import decode_replies
from tests.support.script_functions import call_of, load_once, run_script

TOPIC_ID = "t-1"
NOW = 1_000_000
TOMBSTONE_MS = 600_000
NO_TXN: tuple[Any, Any] = (0, "")


class Node:
    """The keys of one hash tag, on the server that owns them."""

    def __init__(self, client: redis.Redis, tag: str) -> None:
        self.client: Any = client  # its replies are typed for every protocol at once
        self.tag = tag
        self.now = NOW

    def run(self, name: str, keys: Sequence[bytes], *args: Any) -> list[Any]:
        reply = run_script(self.client, Script.load(name), keys, args)
        return decode_reply(reply) if isinstance(reply, list) else [reply]

    def dump(self) -> dict[str, Any]:
        """Key → what it holds; streams with the id they gave last."""
        client, found = self.client, {}
        for key in client.keys(f"{self.tag}:*"):
            match client.type(key):
                case b"hash":
                    value: Any = client.hgetall(key)
                case b"zset":
                    value = client.zrange(key, 0, -1, withscores=True)
                case b"stream":
                    value = (client.xrange(key), client.xinfo_stream(key)["last-generated-id"])
                case kind:
                    raise AssertionError(f"{key!r} is a {kind!r}")
            found[key.decode().removeprefix(f"{self.tag}:")] = value
        return found


class Ledger(Node):
    """One partition.  Appends go to `ledger` by default; `now` is the time of every call."""

    def __init__(self, client: redis.Redis, prefix: str, topic: str = "orders", number: int = 0) -> None:
        super().__init__(client, f"{prefix}:{{{topic}:{number}}}")
        self.keys = PartitionKeys(prefix, topic, number)
        self.ledger = 1
        self.begins_in = ""
        load_once(client, Script.load("ledger/append"))

    def create(self, topic_id: str = TOPIC_ID) -> list[Any]:
        return self.run("ledger/create", self.keys.create_keys(), topic_id, self.now)

    def has_written(self, pid: int, epoch: int, first: int, last: int, offset: int = 0) -> None:
        """Stores the window of a producer whose newest batch is this one."""
        self.client.hset(self.keys.producers, str(pid), f"{epoch} {self.now} {first}:{last}:{offset}")

    def append(self, records: int = 1, **more: Any) -> Any:
        return self.append_all({"records": records, **more})[0]

    def append_all(self, *batches: dict[str, Any]) -> list[Any]:
        """Several appends in one MULTI, as a partition sends them: [status, offset, leader epoch, bytes, created] of
        each that was accepted, [status, ...] of each that was not."""
        pipe = self.client.pipeline(transaction=True)
        data = b""
        for batch in batches:
            data = self.xadd(pipe, batch.get("ledger", self.ledger), batch.get("payload", b"payload"))
        script, keys, args = self.accept_call(data, *batches)
        pipe.execute_command(*call_of(self.client, script, keys, args))
        reply = pipe.execute(raise_on_error=False)[-1]
        return self.answers(reply, len(batches))

    @staticmethod
    def answers(reply: Any, count: int) -> list[Any]:
        if isinstance(reply, Exception):
            return [reply] * count
        if reply[0] != Status.OK:
            return [decode_reply(reply)] * count
        rest = decode_reply(reply)[1:4]
        full = {Status.OK: rest, Status.DUPLICATE: rest[:1]}
        return [[*decode_reply(answer), *full.get(answer[0], [])] for answer in reply[4:]]

    def xadd(self, client: Any, ledger: int | None = None, payload: bytes = b"payload") -> bytes:
        data = self.keys.data(self.ledger if ledger is None else ledger)
        client.execute_command("XADD", data, "NOMKSTREAM", "0-*", "b", payload)
        return data

    def accept_call(self, data: bytes, *batches: dict[str, Any]) -> tuple[Script, Sequence[bytes], Sequence[Any]]:
        k = self.keys
        first = batches[0] if batches else {}
        keys = [k.state, k.ledgers, k.log, k.producers, k.open, k.firsts, k.ended, k.watermarks, data]
        keys += first.get("further", ())
        args: list[Any] = [first.get("topic_id", TOPIC_ID), first.get("ledger", self.ledger), self.now, k.wake]
        for batch in batches or ({},):
            args += self._batch(**batch)
        return Script.load("ledger/append"), keys, args

    def _batch(
        self,
        *,
        records: int = 1,
        payload: bytes = b"payload",
        ledger: int | None = None,
        topic_id: str = TOPIC_ID,
        pid: int = -1,
        epoch: int = 0,
        sequence: int = -1,
        txn: tuple[Any, Any] | None = None,
        verified: bool | str = True,
        owner: str = "",
        further: Sequence[bytes] = (),
    ) -> Sequence[Any]:
        """verified: or where the reply to the registration is stored, in a key of `further`."""
        known = verified if isinstance(verified, str) else int(verified)
        if txn is not None and pid == -1:
            pid = TxnId(int(txn[0]), int(txn[1])).producer_id
        return (records, len(payload), self.now, pid, epoch, sequence, *(txn or NO_TXN), known, owner)

    def end(self, *ends: dict[str, Any], topic_id: str = TOPIC_ID, tombstone_ms: int = TOMBSTONE_MS) -> list[Any]:
        """The reply without the times of the trace, which `used` has afterwards.

        ends: txn (coordinator, serial), commit, and perhaps watermark, pid, subs, groups (named as Kafka groups).
        """
        names: dict[str, int] = {}
        groups = set[str]()
        args: list[Any] = [topic_id, self.now, tombstone_ms, len(ends), self.keys.wake]
        for each in ends:
            coordinator, serial = each["txn"]
            pid = each.get("pid", TxnId(int(coordinator), int(serial)).producer_id)
            subs = [names.setdefault(n, len(names)) for n in (*each.get("subs", ()), *each.get("groups", ()))]
            groups.update(each.get("groups", ()))
            args += (pid, coordinator, serial, int(each["commit"]), each.get("watermark", ""), 1, len(subs), *subs)
        keys = [*self.keys.end_keys]
        for name in names:
            sub = self.keys.sub(name)
            keys += sub.of_register_as_all() if name in groups else sub.all()
        reply = self.run("txn/end", keys, *args)
        words = [str(each).partition(" ") for each in reply[1 : 1 + len(ends)]]
        self.used = [times for _, _, times in words]
        return [reply[0], *(marker for marker, _, _ in words), *reply[1 + len(ends) :]]

    def commit(self, *txn: Any, **more: Any) -> int:
        return int(self.end({"txn": txn, "commit": True, **more})[1])

    def abort(self, *txn: Any, **more: Any) -> int:
        return int(self.end({"txn": txn, "commit": False, **more})[1])

    def roll(self, active: int | None = None, topic_id: str = TOPIC_ID) -> list[Any]:
        active = self.ledger if active is None else active
        keys = (self.keys.state, self.keys.ledgers, self.keys.log, self.keys.data(active + 1))
        reply = self.run("ledger/roll", keys, topic_id, active, self.now)
        if reply[0] == Status.OK:
            self.ledger = int(reply[1])
        return reply

    def trim(
        self,
        *,
        before: int = -1,
        bytes_max: int = -1,
        below: int = -1,
        most: int = 1000,
        named: dict[str, str] | None = None,
        topic_id: str = TOPIC_ID,
    ) -> list[Any]:
        """named: only what subscriptions have acknowledged may go; these are known: name → created, of a leftover.
        The ledger that the log begins in afterwards is `begins_in`, and not part of the answer."""
        k, subs = self.keys, named or {}
        keys = (k.state, k.ledgers, k.log, k.aborted, k.subs, k.sidecar, *(k.sub(name).cursor for name in subs))
        rows = [each for pair in subs.items() for each in pair]
        args = (topic_id, before, bytes_max, below, most, int(named is not None), *rows)
        reply = self.run("ledger/trim", keys, *args)
        if reply[0] == Status.OK:
            self.begins_in = reply.pop(3)
        return reply

    def cut(self, ledger: int, most: int = 10_000, topic_id: str = TOPIC_ID) -> list[Any]:
        k = self.keys
        return self.run("ledger/cut", (k.state, k.ledgers, k.log, k.data(ledger)), topic_id, ledger, most)

    def reclaim(self, limit: int, ledger: int | str = "", topic_id: str = TOPIC_ID) -> list[Any]:
        """One call."""
        k = self.keys
        data = () if ledger == "" else (k.data(int(ledger)),)
        return self.run("ledger/reclaim", (k.state, k.ledgers, k.log, k.aborted, *data), topic_id, ledger, limit)

    def reclaim_all(self, limit: int = 1 << 50) -> tuple[int, int, int]:
        """Calls until the limit, or the stable offset, is reached: the offset, entries deleted, calls."""
        ledger, deleted, calls = "", 0, 0
        while True:
            status, reached, entries, _, _, more, ledger = self.reclaim(limit, ledger)
            assert status == Status.OK
            deleted, calls = deleted + entries, calls + 1
            if not more:
                return int(reached), deleted, calls

    def drop(self, ledger: int, topic_id: str = TOPIC_ID) -> list[Any]:
        keys = (self.keys.state, self.keys.ledgers, self.keys.data(ledger))
        return self.run("ledger/drop", keys, topic_id, ledger)

    def delete(self, *keys: bytes, topic_id: str = TOPIC_ID) -> list[Any]:
        return self.run("ledger/delete", (self.keys.state, *keys), topic_id)

    def log(self) -> list[LogEntry]:
        rows = self.client.xrange(self.keys.log)
        return parse_log([(entry, [part for pair in fields.items() for part in pair]) for entry, fields in rows])

    def aborted(self) -> list[Aborted]:
        rows = self.client.zrange(self.keys.aborted, 1, -1, withscores=True)
        return parse_aborted([part for row in rows for part in row])

    def state(self) -> dict[str, str]:
        return {k.decode(): v.decode() for k, v in self.client.hgetall(self.keys.state).items()}

    @property
    def stable(self) -> int:
        return int(self.state()["stable"])

    @property
    def next(self) -> int:
        return int(self.state()["next"])

    def row(self, ledger: int = 1) -> list[int]:
        """issued deleted sealed max_offset unlogged bytes created_ms"""
        return [int(part) for part in self.client.hget(self.keys.ledgers, str(ledger)).split()]

    def payloads(self, ledger: int = 1) -> dict[str, bytes]:
        return {entry.decode(): fields[b"b"] for entry, fields in self.client.xrange(self.keys.data(ledger))}

    def tombstones(self) -> set[str]:
        return {member.decode() for member in self.client.zrange(self.keys.ended, 1, -1)}

    def watermarks(self) -> dict[str, str]:
        return {k.decode(): v.decode() for k, v in self.client.hgetall(self.keys.watermarks).items() if k}


class Applied(NamedTuple):
    lowest: str
    following: int
    lines: list[str]


def reply_line(reply: list[Any]) -> str:
    """The reply to one operation as a line; "|" before each transaction that was committed together with others."""
    status, *fields = reply
    if fields[:1] == ["committed"]:
        decisions = zip(fields[1::3], fields[2::3], fields[3::3], strict=True)
        return "|".join([f"{status} committed", *(" ".join(filter(None, each)) for each in decisions)])
    return " ".join([str(status), *filter(None, fields)])


class TxnCoordinator(Node):
    """One transaction coordinator, driven by operation lines."""

    def __init__(self, client: redis.Redis, prefix: str, number: int = 0) -> None:
        super().__init__(client, f"{prefix}:{{tc:{number}}}")
        self.number, self.calls = number, 0
        self.keys = CoordinatorKeys(prefix, number)

    def open(self) -> list[Any]:
        return self.run("txn/open", self.keys.all(), self.now)

    def apply(
        self,
        *lines: str,
        broker: str = "b1",
        call: int | None = None,
        keep_ms: int = 3_600_000,
        keep: int = 100_000,
        cap: int = 0,
        overdue_ms: int = 1_000,
        batched: bool = True,
        steps_ms: int = 86_400_000,
        steps: int = 1_000,
    ) -> Applied:
        if call is None:
            call = self.calls = self.calls + 1
        limits = (keep_ms, keep, cap, overdue_ms, int(batched), steps_ms, steps)
        operations = [part for line in lines for part in [*line.split(" ", 2), "", ""][:3]]
        reply = self.run("txn/apply", self.keys.all(), self.now, broker, call, *limits, *operations)
        assert reply[0] == Status.OK, reply
        return Applied(
            reply[1],
            int(reply[2]),
            [reply_line(each) for each in decode_replies(reply[3].encode(errors="surrogateescape"))],
        )

    def one(self, line: str, **more: Any) -> str:
        return self.apply(line, **more).lines[0]

    def begin(
        self, timeout_ms: int = 60_000, owner: str = "-", nonce: str = "-", *participants: str, **more: Any
    ) -> str:
        """The serial."""
        line = " ".join(("begin", str(timeout_ms), owner, nonce, *participants))
        status, serial = self.one(line, **more).split(" ")
        assert status == "0"
        return serial

    def start_at(self, serial: int) -> None:
        """The next transaction gets this serial."""
        self.client.hset(self.keys.state, "next", serial)

    def entries(self) -> list[bytes]:
        return [fields[b"r"] for _, fields in self.client.xrange(self.keys.log)]

    def live(self) -> dict[str, str]:
        return {k.decode(): v.decode() for k, v in self.client.hgetall(self.keys.live).items() if k}

    def records(self) -> list[txn_log.LiveRecord]:
        """The live records of the transaction log."""
        return list(txn_log.live_records(self.client.xrange(self.keys.log), self.client.hgetall(self.keys.live)))

    def counters(self) -> dict[str, int]:
        return {k.decode(): int(v) for k, v in self.client.hgetall(self.keys.state).items()}


def decode_reply(reply: Any) -> list[Any]:
    return [
        Status(reply[0]),
        *(value.decode(errors="surrogateescape") if isinstance(value, bytes) else value for value in reply[1:]),
    ]
