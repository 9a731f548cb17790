"""Drives the scripts of a Kafka group's offset directly and looks into its keys, for tests.

`log` is a Ledger or a FakeLog; statuses are Status, bytes become text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from redis_ledger.store.keys import encode_name
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.fake_log import TOPIC_ID


class Value(NamedTuple):
    offset: str
    leader_epoch: str = "-1"
    metadata: str = ""
    time: str = ""


class Group(Subscription):
    """One group on the partition.  `now` is the time of every call."""

    def __init__(self, log: Any, name: str = "g") -> None:
        self.log, self.name = log, name
        self.keys = log.keys.sub(name)
        self.kind = "kafka"
        self.now = log.now if hasattr(log, "now") else 1_000_000

    def commit(
        self,
        offset: Any,
        *,
        generation: int = -1,
        txn: str = "-",
        epoch: Any = -1,
        metadata: Any = "",
        topic_id: str = TOPIC_ID,
    ) -> list[Any]:
        p = self.log.keys
        args = (topic_id, encode_name(self.name), self.now, generation, offset, epoch, metadata, *txn.split("-"))
        return self.run(
            "cursor/offset_commit", (p.state, p.subs, p.ended, p.watermarks, *self.keys.of_register()), *args
        )

    def fetch(self, generation: int = -1, *, make: bool = False, topic_id: str = TOPIC_ID) -> list[Any]:
        p = self.log.keys
        args = (topic_id, encode_name(self.name), self.now, generation, int(make))
        return self.run("cursor/offset_fetch", (p.state, p.subs, *self.keys.of_register()), *args)

    def forget(
        self,
        what: str = "register",
        when: str = "always",
        before: int = 0,
        generation: int = -1,
        *,
        topic_id: str = TOPIC_ID,
    ) -> list[Any]:
        p = self.log.keys
        args = (topic_id, encode_name(self.name), what, when, before, generation)
        sub = self.keys
        return self.run("cursor/offset_delete", (p.state, p.subs, *sub.of_register()), *args)

    @property
    def value(self) -> Value | None:
        status, *fields = self.fetch()[:5]
        assert status == Status.OK
        return None if fields[3] == "-1" else Value(*fields)

    @property
    def offset(self) -> int:
        return int(self.fetch()[1])

    @property
    def pending(self) -> set[str]:
        return set(self.fetch()[5:])

    def held(self) -> dict[str, Any]:
        """All there is of it, key by key; and that its two keys are there and no other, or none."""
        client = self.log.client
        found: dict[str, Any] = {}
        for key in self.keys.all():
            name = key.decode().rpartition("|")[2] if b"|" in key else "cursor"
            match client.type(key):
                case b"hash":
                    found[name] = client.hgetall(key)
                case b"zset":
                    found[name] = client.zrange(key, 0, -1, withscores=True)
        assert sorted(found) in ([], ["cursor", "pending"]), f"the keys that are there are {sorted(found)}"
        assert client.hexists(self.log.keys.subs, encode_name(self.name)) is bool(found)
        return found
