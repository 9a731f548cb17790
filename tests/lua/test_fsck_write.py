"""lua/fsck/write: an edit is carried out if everything is still as it was, and not at all if one thing is not."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script


class Edits:
    """The keys of one slot: a hash, a sorted set, a stream, and one that is absent."""

    def __init__(self, client, slot):
        self.client = client
        self.hash, self.zset, self.stream, self.absent = (f"{slot}:{name}" for name in ("hash", "zset", "stream", "no"))
        client.hset(self.hash, mapping={"a": "1", "b": "2"})
        client.zadd(self.zset, {"m": 7})
        client.xadd(self.stream, {"f": "v"}, id="0-1")

    def run(self, guards, writes):
        keys, args = [self.hash, self.zset, self.stream, self.absent], [len(guards)]
        for command, key, *more, expected in guards:
            args += (command, keys.index(key) + 1, len(more), *more, expected)
        for command, key, *more in writes:
            args += (command, keys.index(key) + 1, len(more), *more)
        reply = self.client.execute_command(*Script.load("fsck/write").eval([key.encode() for key in keys], args))
        return [Status(reply[0]), *reply[1:]]


@pytest.fixture
def edits(connect, prefix):
    slot = f"{prefix}:{{orders:0}}"
    return Edits(connect(slot), slot)


def guards_of(edits):
    """A guard of each kind, all of which hold."""
    return [
        ("HGET", edits.hash, "a", "=1"),
        ("HGET", edits.hash, "none", "-"),
        ("ZSCORE", edits.zset, "m", "=7"),
        ("ZSCORE", edits.zset, "none", "-"),
        ("XLEN", edits.stream, "=1"),
        ("XRANGE", edits.stream, "-", "+", "=1"),
        ("HGET", edits.absent, "a", "-"),
        ("EXISTS", edits.absent, "=0"),
    ]


def test_an_edit_is_carried_out_while_everything_is_as_it_was(edits):
    writes = [("HSET", edits.hash, "a", "9"), ("HDEL", edits.hash, "b"), ("ZADD", edits.zset, 3, "n")]
    assert edits.run(guards_of(edits), writes) == [Status.OK]
    assert edits.client.hgetall(edits.hash) == {b"a": b"9"}
    assert edits.client.zrange(edits.zset, 0, -1) == [b"n", b"m"]


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("other", ["=11", "=", "-", "=-1"])
def test_nothing_is_written_if_one_thing_has_changed(edits, number, other):
    guards = guards_of(edits)
    if guards[number][-1] == other:
        other = "=0"
    guards[number] = (*guards[number][:-1], other)
    assert edits.run(guards, [("HSET", edits.hash, "a", "9"), ("DEL", edits.zset)]) == [Status.STALE, number + 1]
    assert edits.client.hget(edits.hash, "a") == b"1"
    assert edits.client.zcard(edits.zset) == 1


def test_a_key_of_another_type_does_not_hold_a_guard(edits):
    assert edits.run([("HGET", edits.zset, "m", "=7")], [("DEL", edits.zset)]) == [Status.STALE, 1]
    assert edits.client.zcard(edits.zset) == 1


def test_an_empty_stream_is_made(edits):
    assert edits.run([("EXISTS", edits.absent, "=0")], [("XGROUP CREATE", edits.absent)]) == [Status.OK]
    assert (edits.client.type(edits.absent), edits.client.xlen(edits.absent)) == (b"stream", 0)
