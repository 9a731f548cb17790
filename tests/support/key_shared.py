"""Drives lua/cursor/receive_key_shared, and checks its queues, for tests."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from redis_ledger.cursor import slot_queues
from redis_ledger.cursor.key_shared import hash_of
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, CursorContent, Got, Subscription
from tests.support.fake_log import TOPIC_ID, FakeLog
from tests.support.script_functions import run_script

WINDOW_MAX = 8_192  # records whose keys a call names, when the test does not choose them


class KeySharedSubscription(Subscription):
    """key_of: offset → key, of records; the others have none."""

    def __init__(self, log: FakeLog, key_of: Mapping[int, str], name: str = "sub") -> None:
        super().__init__(log, name, "key_shared")
        self.key_of = key_of

    def hash(self, offset: int) -> bytes:
        key = self.key_of.get(offset)
        return hash_of(None if key is None else key.encode(), offset)

    def receive_raw(  # type: ignore[override]  # an ordered subscription has other arguments
        self,
        consumer: str,
        most: int = 100,
        *,
        most_bytes: int = 1 << 20,
        request: str = "",
        again: int = 0,
        limits: tuple[int, int] = (0, 0),
        waiting_max: int = 1_000,
        window: tuple[int, int] | None = None,
        session: int = SESSION,
    ) -> list[Any]:
        p, client = self.log.keys, self.log.client
        if window is None:
            read, end = int(client.hget(self.keys.cursor, "read")), int(client.hget(p.state, "next"))
            window = read, min(end, read + WINDOW_MAX)
        hashes = b"".join(self.hash(offset) for offset in range(*window))
        args = (
            TOPIC_ID, consumer, self.now, most, most_bytes, ACK_TIMEOUT, session, request, again, *limits, waiting_max,
            window[0], hashes,
        )  # fmt: skip
        script = Script.load("cursor/receive_key_shared")
        reply = run_script(client, script, (p.state, p.log, p.aborted, *self.keys.all()), args)
        return [Status(reply[0]), *reply[1:]]

    def receive(self, consumer: str = "c1", most: int = 100, **more: Any) -> Got:
        reply = self.receive_raw(consumer, most, **more)
        assert reply[0] == Status.OK, reply
        offsets: dict[int, int] = {}
        for i in range(6, len(reply), 10):
            packed, count, _, _, base, records = reply[i : i + 6]
            for place in struct.unpack(f">{len(packed) // 4}I", packed):
                assert place < int(records)
                assert int(base) + place not in offsets, "an offset is delivered twice in one call"
                offsets[int(base) + place] = count
        return Got(offsets, reply[1], reply[2], reply[3], reply[4] == 1, reply[5])

    def got(self, consumer: str = "c1", most: int = 100, **more: Any) -> dict[str, list[int]]:
        """Receives, checks the index, and returns offsets by key."""
        received = self.receive(consumer, most, **more)
        self.checked()
        found: dict[str, list[int]] = {}
        for offset in received.offsets:
            found.setdefault(self.key_of.get(offset, f"{offset}"), []).append(offset)
        return found

    def leases(self) -> dict[int, tuple[str, int, int]]:
        entries = slot_queues.all_entries(self.log.client.hgetall(self.keys.leases)).values()
        return {e.offset: (e.consumer, e.deliveries, e.deadline_ms) for e in entries if e.consumer is not None}

    def slots(self) -> dict[str, int]:
        """The number of slots of each consumer."""
        text, names = self.log.client.hmget(self.keys.cursor, "slots", "members")
        members = names.decode().split()
        return {member: text.count(bytes([place])) for place, member in enumerate(members, 1)}

    def table(self) -> list[str]:
        text, names = self.log.client.hmget(self.keys.cursor, "slots", "members")
        return [names.decode().split()[place - 1] for place in text]

    def checked(self) -> CursorContent:
        """Asserts that the index has exactly the unacknowledged offsets, and that a key is at one consumer at most,
        with what is leased of it before what waits."""
        content = self.content()
        stored = {name: text for name, text in self.log.client.hgetall(self.keys.leases).items() if name}
        entries = slot_queues.all_entries(stored)
        unacked = sorted({*content.leases, *content.pending})
        assert sorted(entries) == unacked
        assert {offset: entry.key for offset, entry in entries.items()} == {o: self.hash(o) for o in unacked}
        assert {offset for offset, entry in entries.items() if entry.consumer is None} == {*content.pending}
        fields, due = slot_queues.fields_of(entries.values())
        assert stored.keys() == fields.keys()
        for name in (name for name in fields if name[:1] == b"m"):
            assert stored[name][:2] == fields[name][:2]
            for offset in (each for each in unacked if each // slot_queues.PER_PLACE == int(name[1:])):
                assert stored[name][2 + offset % slot_queues.PER_PLACE] == self.hash(offset)[-1]
        scores = self.log.client.zrange(self.keys.due, 0, -1, withscores=True)
        assert {member: score for member, score in scores if member} == due
        assert self.log.client.zrange(self.keys.spans, 0, -1) == [b""]
        lists: dict[bytes, list[int]] = {}
        for offset in unacked:
            lists.setdefault(self.hash(offset), []).append(offset)
        for key, offsets in lists.items():
            at = [content.leases[offset][0] if offset in content.leases else "held" for offset in offsets]
            consumers = [each for each in at if each not in ("", "%", "held")]
            assert len(set(consumers)) <= 1, f"{key!r} is at {consumers}"
            waits = [place for place, each in enumerate(at) if each in ("", "%")]
            leased = [place for place, each in enumerate(at) if each not in ("", "%", "held")]
            assert not waits or not leased or leased[-1] < waits[0], f"{key!r}: {at}"
        return content
