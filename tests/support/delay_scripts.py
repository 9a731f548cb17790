"""Drives the scripts of lua/delay/ and lua/ledger/schedule directly, and says what must hold between any two calls.

delays.schedule(100, (200, 3), [300, 310])     one batch: a record due at 100, three at 200, a block of two
delays.fire(now=250)                           with a time of the test's own
delays.seal()                                  rotate, a made-up snapshot, list it
delays.check()                                 counters, live bits and ledger rows agree with each other
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import redis

from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.delay.scripts import Fired, next_member
from redis_ledger.ids import TxnId
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from tests.support.ledger_scripts import NO_TXN, TOPIC_ID, Ledger, decode_reply
from tests.support.script_functions import call_of, load_once

STAMP = 7  # newest timestamp of what is scheduled, unless a test says otherwise
Due = int | tuple[int, int] | list[int]
SETS = ("open", "closing", "queue")


class Later(NamedTuple):
    dues: list[int]
    records: int
    payload: bytes = b"later"
    newest: int = STAMP

    @classmethod
    def of(cls, due: Due | Later) -> Later:
        match due:
            case Later():
                return due
            case int():
                return cls([due], 1)
            case list():
                return cls(due, len(due))
            case (at, records):
                return cls([at], records)

    @property
    def due(self) -> str:
        return ",".join(map(str, self.dues))


class Delays(Ledger):
    """One partition in which something was scheduled before.  `delay_ledger` is where a broker thinks it goes on."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        super().__init__(client, prefix)
        self.d = self.keys.delay
        self.delay_ledger = -1
        self.sizes: dict[int, int] = {}  # records of every entry that was accepted
        load_once(client, Script.load("ledger/schedule"))

    # -- calls -------------------------------------------------------------------------------------------------------

    def schedule(self, *later: Due | Later, **more: Any) -> Any:
        """One batch, and its answer: [OK, base offset, first entry] or a refusal."""
        return self.schedule_all({"later": later, **more})[0]

    def schedule_all(self, *batches: dict[str, Any]) -> list[Any]:
        """Several batches in one MULTI.  now: how many records are due now; later: the entries of the others."""
        pipe = self.client.pipeline(transaction=True)
        data, delay_data = self.keys.data(self.ledger), self.keys.data(self.delay_ledger)
        for batch in batches:
            if batch.get("now"):
                self.xadd(pipe, self.delay_ledger if batch.get("aside") else self.ledger, b"now")
            for each in map(Later.of, batch.get("later", ())):
                pipe.execute_command("XADD", delay_data, "NOMKSTREAM", "0-*", "b", each.payload, "d", each.due)
        k, d = self.keys, self.d
        keys = (
            k.state, k.ledgers, k.log, k.producers, k.open, k.firsts, k.ended, k.watermarks, data, delay_data,
            d.state, d.open, d.live, d.closing, d.queue, d.parts, d.moved, d.buckets, d.next, d.snaps, d.repeats,
            k.sidecar,
        )  # fmt: skip
        topic_id = batches[0].get("topic_id", TOPIC_ID)
        args: list[Any] = [topic_id, self.ledger, self.delay_ledger, self.now, k.wake, len(batches)]
        for batch in batches:
            args += self._original(**{name: value for name, value in batch.items() if name != "topic_id"})
        pipe.execute_command(*call_of(self.client, Script.load("ledger/schedule"), keys, args))
        reply = pipe.execute(raise_on_error=False)[-1]
        if isinstance(reply, Exception) or reply[0] != Status.OK:
            return [reply if isinstance(reply, Exception) else decode_reply(reply)] * len(batches)
        self.told_open = int(reply[6])
        answers = [decode_reply(answer) for answer in reply[7:]]
        for batch, answer in zip(batches, answers, strict=True):
            if answer[0] == Status.OK:
                entries = map(Later.of, batch.get("later", ()))
                self.sizes |= {entry: each.records for entry, each in enumerate(entries, answer[2])}
        return answers

    def _original(
        self,
        *,
        later: Sequence[Due | Later] = (),
        now: int = 0,
        records: int | None = None,
        pid: int = -1,
        epoch: int = 0,
        sequence: int = -1,
        txn: tuple[Any, Any] | None = None,
        verified: bool = True,
        owner: str = "",
        aside: bool = False,
    ) -> list[Any]:
        entries = list(map(Later.of, later))
        if txn is not None and pid == -1:
            pid = TxnId(int(txn[0]), int(txn[1])).producer_id
        of_all = now + sum(each.records for each in entries) if records is None else records
        args: list[Any] = [of_all, pid, epoch, sequence, *(txn or NO_TXN), int(verified), now, 3 if now else 0]
        args += [self.now if now else 0, len(entries), sum(each.records for each in entries)]
        args += [sum(len(each.payload) for each in entries), sum("," in str(each.due) for each in entries), owner]
        args.append(int(aside))
        for each in entries:
            args += [each.due, f"{self.delay_ledger} {each.records} {len(each.payload)} {each.newest}"]
        return args

    def call(self, name: str, keys: Sequence[bytes], *args: Any, topic_id: str = TOPIC_ID) -> list[Any]:
        return self.run(f"delay/{name}", (self.keys.state, *keys), topic_id, *args)

    def fire(self, now: int | str = "", most: int = 500, **more: Any) -> Any:
        """Fired; the reply itself where it is short.  now "": the server's."""
        k, d = self.keys, self.d
        keys = (
            k.ledgers,
            k.log,
            d.state,
            d.open,
            d.closing,
            d.queue,
            d.live,
            d.parts,
            d.moved,
            d.next,
            d.repeats,
        )
        reply = self.call("fire", keys, most, now, k.wake, **more)
        if len(reply) < 3:
            return reply
        texts = {6, 7, 11}
        values: list[Any] = [value if at in texts else int(value) for at, value in enumerate(reply)][1:]
        values[6] = tuple(values[6].split())
        return Fired(*values)

    def settle(self, txn: str, number: int, ledger: int = -1, **more: Any) -> list[Any]:
        k, d = self.keys, self.d
        keys = (k.ledgers, d.state, d.open, d.queue, d.live, d.parts, d.repeats, k.data(ledger))
        return self.call("settle", keys, txn, number, **more)

    def rotate(self, ledger: int | None = None, *, close: bool = True, **more: Any) -> list[Any]:
        k, d = self.keys, self.d
        ledger = self.delay_ledger if ledger is None else ledger
        reply = self.call(
            "rotate", (k.ledgers, d.state, d.open, d.closing, k.data(ledger - 1)), ledger, self.now, int(close), **more
        )
        if reply[0] == Status.OK:
            self.delay_ledger = int(reply[1])
        return reply

    def write(self, snapshot: str, *fields: Any, begun: Any = "", **more: Any) -> list[Any]:
        return self.call("write", (self.d.snaps, self.d.snapshot(snapshot)), snapshot, begun, *fields, **more)

    def list_sealed(self, name: str, bucket: Bucket | None, first_entry: int = 0, **more: Any) -> list[Any]:
        d = self.d
        listed: tuple[Any, ...] = ("", "", "", 0)
        if bucket is not None:
            listed = (bucket.text(), bucket.snapshot, next_member(first_entry, bucket.name), bucket.next_due_ms)
        return self.call("seal", (d.state, d.closing, d.buckets, d.next, d.snaps), name, *listed, **more)

    def load(
        self,
        bucket: Bucket,
        after: Bucket | str,
        member: str,
        entries: Sequence[Indexed],
        following: int = 0,
        **more: Any,
    ) -> list[Any]:
        """following: first entry of the segment behind."""
        d = self.d
        text, due = (after, "") if isinstance(after, str) else (after.text(), after.next_due_ms)
        behind = "" if isinstance(after, str) else next_member(following, bucket.name)
        pairs = [each for entry in entries for each in (entry.due_ms, entry.member())]
        keys = (d.queue, d.buckets, d.next, d.state)
        return self.call("load", keys, bucket.name, bucket.text(), text, member, behind, due, *pairs, **more)

    def replace(
        self, sources: Sequence[tuple[Bucket, str]], name: str, bucket: Bucket | None, first_entry: int = 0, **more: Any
    ) -> list[Any]:
        d = self.d
        listed: tuple[Any, ...] = ("", "", "", 0)
        if bucket is not None:
            listed = (bucket.text(), bucket.snapshot, next_member(first_entry, name), bucket.next_due_ms)
        rows = [each for source, member in sources for each in (source.name, source.text(), member)]
        return self.call("replace", (d.buckets, d.next, d.snaps, d.state), name, *listed, len(sources), *rows, **more)

    def drop_snapshot(self, snapshot: str, before: int = 0, **more: Any) -> list[Any]:
        return self.call(
            "drop_snapshot", (self.d.buckets, self.d.snaps, self.d.snapshot(snapshot)), snapshot, before, **more
        )

    def cancel(self, *records: tuple[int, int, int], ledger: int = -1, **more: Any) -> list[Any]:
        """records: entry, index, records of the entry.  The answers."""
        k, d = self.keys, self.d
        keys = (k.ledgers, d.state, d.live, d.parts, d.moved, d.repeats, k.data(ledger))
        reply = self.call("cancel", keys, ledger, *(n for one in records for n in one), **more)
        return reply[1:] if reply[0] == Status.OK else reply

    def move(self, entry: Indexed, index: int, due: int, **more: Any) -> list[Any]:
        d = self.d
        rest = f"{entry.ledger} {entry.records} {entry.size} {entry.newest_ms}"
        keys = (d.state, d.open, d.queue, d.live, d.parts, d.moved)
        return self.call("move", keys, entry.entry, index, due, entry.ledger, rest, **more)

    def clear(self, ledger: int | None = None, **more: Any) -> list[Any]:
        k, d = self.keys, self.d
        ledger = self.delay_ledger if ledger is None else ledger
        keys = (
            k.ledgers, k.data(ledger - 1), d.state, d.open, d.closing, d.queue, d.live, d.parts, d.moved, d.buckets,
            d.next, d.snaps, d.repeats, k.open, k.firsts, k.sidecar,
        )  # fmt: skip
        return self.call("clear", keys, ledger, self.now, **more)

    def restore(self, *entries: Indexed, **more: Any) -> list[Any]:
        pairs = [each for entry in entries for each in (entry.due_ms, entry.member())]
        return self.call("restore", (self.d.queue,), *pairs, **more)

    def rearm(self, entry: int, owed: str, due: int | str, repeat: str = "", **more: Any) -> list[Any]:
        k, d = self.keys, self.d
        keys = (k.ledgers, d.state, d.open, d.queue, d.live, d.parts, d.repeats)
        return self.call("rearm", keys, entry, owed, due, repeat, **more)

    # -- a bucket, from end to end -----------------------------------------------------------------------------------

    def seal(self, *cuts: int, ledger: int | None = None) -> tuple[Bucket, list[list[Indexed]]]:
        """Rotates and lists what was in the open bucket; its segments end before the given due times."""
        _, _, name = self.rotate(ledger)
        return self.finish_seal(name, *cuts)

    def finish_seal(self, name: str, *cuts: int) -> tuple[Bucket, list[list[Indexed]]]:
        live = self.live()
        rows = [row for row in self.rows("closing") if row.entry in live]
        edges = [0, *cuts, 1 << 60]
        cut = [[row for row in rows if a <= row.due_ms < b] for a, b in pairwise(edges)]
        segments = [segment for segment in cut if segment]
        snapshot = f"snap{name}"
        first, last = (-int(n) for n in name.split("-"))
        bucket = Bucket(
            first, last, snapshot, len(segments), 0, len(rows), len(rows), rows[0].due_ms, rows[-1].due_ms, 0, self.now
        )
        assert self.write(snapshot, begun=self.now) == [Status.OK]
        for number, _ in enumerate(segments, 1):
            assert self.write(snapshot, number, "segment") == [Status.OK]
        assert self.list_sealed(name, bucket, rows[0].entry) == [Status.OK]
        return bucket, segments

    def load_next(self, bucket: Bucket, segments: Sequence[Sequence[Indexed]]) -> Bucket:
        """The bucket as it is listed afterwards, if it is."""
        after: Bucket | str = bucket._replace(loaded=bucket.loaded + 1)
        following = 0
        member = next_member(segments[bucket.loaded][0].entry, bucket.name)
        if bucket.loaded + 1 == bucket.segments:
            after = ""
        else:
            assert isinstance(after, Bucket)
            first = segments[after.loaded][0]
            after, following = after._replace(next_due_ms=first.due_ms), first.entry
        assert self.load(bucket, after, member, segments[bucket.loaded], following) == [Status.OK]
        return bucket._replace(loaded=bucket.loaded + 1) if after == "" else after  # type: ignore[return-value]

    # -- what is there -----------------------------------------------------------------------------------------------

    def counters(self) -> dict[str, int]:
        names = ("open", "records", "entries", "held", "fired", "cancelled", "owed")
        values = self.client.hmget(self.d.state, names)
        return {name: int(value or 0) for name, value in zip(names, values, strict=True)}

    def field(self, name: str) -> str | None:
        value = self.client.hget(self.d.state, name)
        return None if value is None else value.decode()

    def rows(self, name: str) -> list[Indexed]:
        """open, closing or queue, in order."""
        rows = self.client.zrange(getattr(self.d, name), 0, -1, withscores=True)
        return sorted(Indexed.read(member, int(score)) for member, score in rows if member)

    def at(self, name: str) -> list[tuple[int, int, int]]:
        return [(row.due_ms, row.entry, row.index) for row in self.rows(name)]

    def live(self) -> set[int]:
        return {
            4096 * int(chunk) + bit
            for chunk, bits in self.client.hgetall(self.d.live).items()
            if chunk
            for bit in range(4096)
            if bits[bit >> 3] >> (bit & 7) & 1
        }

    def hash(self, name: str) -> dict[str, str]:
        """parts, moved, buckets, snaps or repeats."""
        rows = self.client.hgetall(getattr(self.d, name))
        return {key.decode(): value.decode() for key, value in rows.items() if key}

    def next_segments(self) -> list[tuple[int, str]]:
        rows = self.client.zrange(self.d.next, 0, -1, withscores=True)
        return [(int(score), member.decode()) for member, score in rows if member]

    def fired(self) -> list[tuple[int, int, str | None]]:
        """Ledger, entry and (where it is not all) which records of it, of every log entry of a delay ledger."""
        return [(e.ledger, e.entry, getattr(e, "kept", None)) for e in self.log() if e.ledger < 0]

    def entry(self, entry: int) -> Indexed:
        """As some sorted set has it."""
        return next(row for name in SETS for row in self.rows(name) if row.entry == entry)

    # -- what must hold ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        counters, live, parts = self.counters(), self.live(), self.hash("parts")
        held = self._held()
        owed = {int(name[1:]) for name in self.hash("repeats") if name.startswith("!")}
        assert counters["entries"] == len(live)
        assert counters["owed"] == len(owed)
        assert counters["held"] == sum(held.values())
        assert not live & held.keys()
        stored: dict[int, int] = {}  # entry → ledger
        payloads: dict[int, tuple[bytes, bytes]] = {}
        for name, text in self.client.hgetall(self.keys.ledgers).items():
            issued, deleted, _, _, unlogged, *_ = map(int, text.split())
            there = self.client.xrange(self.keys.data(int(name)))
            assert len(there) == issued - deleted, f"ledger {name.decode()}"
            if int(name) > 0:
                continue
            of_it = {int(entry[2:]): (fields[b"b"], fields[b"d"]) for entry, fields in there}
            stored |= dict.fromkeys(of_it, int(name))
            payloads |= of_it
            assert unlogged == len((live | held.keys() | owed) & of_it.keys()), f"ledger {name.decode()}"
        assert (live | held.keys() | owed) <= stored.keys()
        pending = 0
        for entry in live:
            marks = parts.get(str(entry))
            pending += self.sizes[entry] if marks is None else sum(mark in "1bm" for mark in marks)
        assert counters["records"] == pending
        assert {name.split(".")[0] for name in self.hash("moved")} <= {str(entry) for entry in live}
        assert sorted(name for _, name in self.next_segments()) == sorted(
            name for _, name in self.next_segments() if name.split(" ")[1] in self.hash("buckets")
        )
        assert len(self.next_segments()) == len(self.hash("buckets"))

    def _held(self) -> dict[int, int]:
        """Entry → records of it that transactions hold."""
        found: dict[int, int] = {}
        for name, text in self.client.hgetall(self.d.state).items():
            for row in text.decode().split("|") if b"/" in name else ():
                one = Indexed.read(row.split(" ", 1)[1].encode(), 0)
                found[one.entry] = found.get(one.entry, 0) + (one.records if one.index < 0 else 1)
        return found
