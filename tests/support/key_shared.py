"""Drives lua/cursor/receive_key_shared, and checks its index of keys, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis_ledger.cursor.key_shared import hash_of
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, CursorContent, Subscription
from tests.support.fake_log import TOPIC_ID, FakeLog


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
            window = int(client.hget(self.keys.cursor, "read")), int(client.hget(p.state, "next"))
        hashes = b"".join(self.hash(offset) for offset in range(*window))
        args = (
            TOPIC_ID, consumer, self.now, most, most_bytes, ACK_TIMEOUT, session, request, again, *limits, waiting_max,
            window[0], hashes,
        )  # fmt: skip
        return self.run("cursor/receive_key_shared", (p.state, p.log, p.aborted, *self.keys.all()), *args)

    def got(self, consumer: str = "c1", most: int = 100, **more: Any) -> dict[str, list[int]]:
        """Receives, checks the index, and returns offsets by key."""
        received = self.receive(consumer, most, **more)
        self.checked()
        found: dict[str, list[int]] = {}
        for offset in received.offsets:
            found.setdefault(self.key_of.get(offset, f"{offset}"), []).append(offset)
        return found

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
        rows = {k.decode(): v.decode() for k, v in self.log.client.hgetall(self.keys.leases).items()}
        unacked = sorted({*content.leases, *content.pending})
        assert {name: text for name, text in rows.items() if name[:1] == "o"} == {
            f"o{offset}": self.hash(offset).hex() for offset in unacked
        }
        lists: dict[str, list[int]] = {}
        for offset in unacked:
            lists.setdefault(self.hash(offset).hex(), []).append(offset)
        assert {name: text for name, text in rows.items() if name[:1] == "k"} == {
            f"k{key}": f",{','.join(map(str, offsets))}," for key, offsets in lists.items()
        }
        for key, offsets in lists.items():
            at = [content.leases[offset][0] if offset in content.leases else "held" for offset in offsets]
            consumers = [each for each in at if each not in ("", "%", "held")]
            assert len(set(consumers)) <= 1, f"{key} is at {consumers}"
            waits = [place for place, each in enumerate(at) if each in ("", "%")]
            leased = [place for place, each in enumerate(at) if each not in ("", "%", "held")]
            assert not waits or not leased or leased[-1] < waits[0], f"{key}: {at}"
        return content
