"""Any acknowledgements of many records, against a set of offsets: lists, bitmaps, full chunks, and what earlier
releases have stored.  Requirements AK-02 (counts leave out what transactions hold) and AK-03."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redis_ledger.cursor import ack_chunks
from redis_ledger.cursor.ranges import to_ranges
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import CHUNK, Subscription, connected
from tests.support.examples import examples
from tests.support.fake_log import TOPIC_ID, FakeLog

RECORDS = 3 * CHUNK + 50
TXN = "1-7"
HELD = (5, CHUNK + 7, 2 * CHUNK + 3_000)

# first offset, number of ranges, offsets in each, and from one to the next
patterns = st.one_of(
    st.tuples(st.integers(0, RECORDS), st.just(1), st.integers(1, 2 * CHUNK), st.just(1)),
    st.tuples(st.sampled_from([0, CHUNK - 3, CHUNK, 2 * CHUNK - 1]), st.just(1), st.integers(1, CHUNK + 3), st.just(1)),
    st.tuples(st.integers(0, RECORDS), st.integers(1, 300), st.integers(1, 3), st.sampled_from([4, 8, 21, 64])),
    st.tuples(st.integers(0, RECORDS), st.integers(1, 300), st.just(1), st.sampled_from([2, 3])),
)
steps = st.one_of(patterns, patterns, patterns, st.sampled_from(["earlier release", "beside", "seek"]))


class Run:
    """A subscription, and the set of its acknowledged offsets."""

    def __init__(self, client: Any, prefix: str, start: int) -> None:
        self.start = start
        self.log = FakeLog(client, prefix, next_offset=start)
        self.log.append(RECORDS)
        self.sub = Subscription(self.log)
        self.begin(start)

    def begin(self, at: int) -> None:
        """Receives everything from an offset on, and acknowledges some of it in a transaction."""
        self.acked = set(range(self.start, at))
        self.sub.receive_raw("c1", RECORDS)
        self.held = {self.start + each for each in HELD if self.start + each >= at}
        self.sub.hold(TXN, self.held)

    def ack(self, first: int, ranges: int, size: int, stride: int) -> None:
        end = self.start + RECORDS
        offsets = {o for at in range(ranges) for o in range(first + at * stride, first + at * stride + size)}
        wanted = to_ranges(o for o in (self.start + each for each in offsets) if o < end)
        if not wanted:
            return
        flat = [offset for each in wanted for offset in each]
        args = (TOPIC_ID, "c1", "all", 10_000, *flat)
        reply = self.sub.run("cursor/ack", (self.log.keys.state, *self.sub.keys.all()), *args)
        assert reply[0] == Status.OK
        acked = {offset for first, last in wanted for offset in range(first, last + 1)} - self.held
        assert reply[1] == len(acked)
        self.acked |= acked

    def rewrite(self, *, keeps: bool) -> None:
        """Stores all chunks as an earlier release does.  keeps: leaves what this release has stored beside them."""
        client, acks = self.log.client, self.sub.keys.acks
        stored = {name: value for name, value in client.hgetall(acks).items() if name}
        chunks = range(self.start // CHUNK, self.log.next // CHUNK + 1)
        bits = {chunk: ack_chunks.bitmap(stored, chunk).rstrip(b"\0") for chunk in chunks}
        if not keeps and stored:
            client.hdel(acks, *stored)
        mark = int(client.hget(self.sub.keys.cursor, "mark"))
        for chunk, value in bits.items():
            if value and chunk >= mark // CHUNK:
                client.hset(acks, str(chunk), value)

    def seek(self) -> None:
        """Every offset is in one place again behind it."""
        at = min(self.acked, default=self.start)
        self.sub.settle(TXN, commit=False)
        assert self.sub.seek(at)[0] == Status.OK
        assert self.sub.content().bits == set()
        self.begin(at)

    def check(self) -> None:
        content = self.sub.content()
        assert content.bits == {offset for offset in self.acked if offset >= content.mark}
        assert content.mark == min(set(range(self.start, content.read)) - self.acked, default=content.read)
        assert set(content.pending) == self.held

    def finish(self) -> None:
        self.sub.settle(TXN, commit=True)
        self.held = set()
        self.ack(0, 1, RECORDS, 1)
        assert self.sub.content().mark == self.log.next
        assert set(self.log.client.hgetall(self.sub.keys.acks)) <= {
            b"", b"8e90", ack_chunks.list_name(self.log.next // CHUNK), b"%d" % (self.log.next // CHUNK),
        }  # fmt: skip


def test_acknowledged_offsets_are_those_of_a_set_in_every_form(redis_url, prefix):
    numbers = count()

    @settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
    @given(st.sampled_from([0, CHUNK - 9]), st.lists(steps, min_size=3, max_size=12))
    def check(start: int, history: list[Any]) -> None:
        run = Run(client, f"{prefix}-{next(numbers)}", start)
        for each in history:
            if each == "seek":
                run.seek()
            elif isinstance(each, str):
                run.rewrite(keeps=each == "beside")
            else:
                run.ack(*each)
            run.check()
        run.finish()

    with connected(redis_url) as client:
        check()
