"""Frames out of bytes: a connection has a read buffer only while bytes arrive, and half a frame is counted."""

from __future__ import annotations

import time

import pytest

from redis_ledger.kafka import frames
from redis_ledger.kafka.frames import HEAD_BYTES, Frames
from redis_ledger.kafka.protocol.primitives import BadFrame


class Door:
    """room: bytes that half frames may take."""

    def __init__(self, room: int = 1 << 20) -> None:
        self.room, self.taken, self.got = room, 0, list[bytes]()
        self.frames = Frames(lambda frame: self.got.append(bytes(frame)), self.take, self.give, lambda: (0, 1 << 20))

    def take(self, count: int) -> bool:
        if self.taken + count > self.room:
            return False
        self.taken += count
        return True

    def give(self, count: int) -> None:
        self.taken -= count
        assert self.taken >= 0

    def send(self, data: bytes) -> None:
        """As the event loop does: into the buffer it is given, as much as fits."""
        while data:
            buffer = self.frames.buffer()
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self.frames.received(count)
            data = data[count:]


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def test_many_idle_connections_share_a_few_read_buffers(monkeypatch):
    monkeypatch.setattr(frames, "_spare", [])
    doors = [Door() for _ in range(500)]
    for door in doors:
        door.send(framed(b"one", b"two"))
        door.send(framed(b"x" * 100_000))
    assert all(door.got == [b"one", b"two", b"x" * 100_000] for door in doors)
    assert [door for door in doors if door.frames._head is not None or door.taken] == []
    assert len(frames._spare) <= frames.SPARE_MAX


def test_half_a_frame_keeps_its_buffer_which_is_counted_until_it_is_whole():
    door, data = Door(), framed(b"one", b"two")
    for byte in data[:-1]:
        door.send(bytes([byte]))
        assert (door.taken == HEAD_BYTES) is (door.frames.since > 0)
    assert (door.got, door.taken) == ([b"one"], HEAD_BYTES)
    door.send(data[-1:])
    assert (door.got, door.taken, door.frames.since) == ([b"one", b"two"], 0, 0.0)


@pytest.mark.parametrize("begun", [framed(b"third")[:-1], framed(b"x" * 100_000)[:100]])
def test_half_a_frame_behind_a_whole_one_is_as_old_as_its_own_first_byte(monkeypatch, begun):
    now_s = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    door = Door()
    door.send(framed(b"first", b"second")[:-1])
    now_s = 120.0
    door.send(framed(b"second")[-1:] + begun)
    assert (door.got, door.frames.since) == ([b"first", b"second"], 120.0)


def test_half_frames_that_take_too_much_are_refused_and_give_all_back_at_the_end():
    door = Door(room=HEAD_BYTES - 1)
    door.send(framed(b"whole ones need nothing"))
    with pytest.raises(BadFrame, match="incomplete requests"):
        door.send(b"\x00")
    assert door.frames.begin == b"\x00"
    door.frames.drop()
    large = Door()
    large.send(framed(b"x" * 100_000)[:50_000])
    assert large.taken > 49_000
    large.frames.drop()
    assert (door.taken, large.taken) == (0, 0)


def test_buffers_that_are_used_again_show_nothing_of_what_they_held():
    first, second = Door(), Door()
    first.send(framed(b"s" * 10_000))
    second.send(framed(b"t")[:3])
    assert second.got == []
    second.send(framed(b"t")[3:])
    assert second.got == [b"t"]
