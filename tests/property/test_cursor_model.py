"""Any history of a subscription, against a model that keeps one state for each offset (tests/support/cursor_model.py).

After every step both must return the same reply, and `content()` reads all structures and asserts that every offset is
in exactly one of them.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from redis_ledger.cursor.ranges import to_ranges
from redis_ledger.store.script_status import Status
from tests.support.cursor_model import DONE, Held, Leased, Model
from tests.support.cursor_scripts import ACK_TIMEOUT, CHUNK, SESSION, Subscription, connected
from tests.support.examples import examples
from tests.support.fake_log import FakeLog

CONSUMERS = ("c1", "c2", "c3")
COORDINATORS = (0, 31, 32, 32767)  # 32 << 48 is where a double loses serials

picks = st.lists(st.integers(0, 24), min_size=1, max_size=6)
consumers = st.sampled_from([*CONSUMERS, "c1", "c1"])
slots = st.sampled_from([0, 1, 2, 3, 0, 1])


def step(name: str, *args: Any) -> Any:
    return st.tuples(st.just(name), *args)


# Grouped so that each kind of work is about as likely as the others.
steps = st.one_of(
    st.one_of(
        step("append", st.integers(1, 12), st.sampled_from([None, None, "7", "8"])),
        step("append", st.integers(1, 3), st.sampled_from(["7", "8", "9"])),
        step("end", st.sampled_from(["7", "8", "9"]), st.booleans()),
        step("end", st.sampled_from(["7", "8", "9"]), st.booleans()),
    ),
    step("receive", consumers, st.sampled_from([1, 3, 10, 100, 100]), st.none() | st.integers(0, 24)),
    st.one_of(
        step("receive", consumers, st.sampled_from([1, 3, 10, 100, 100]), st.none() | st.integers(0, 24)),
        step("lost_receive", consumers, st.integers(1, 6), st.booleans()),
        step("lost_receive", consumers, st.integers(1, 6), st.just(True)),
        step("receive_again", consumers, st.integers(1, 6)),
        step("late_attempt", consumers),
    ),
    st.one_of(
        step("claim", consumers, st.none() | st.tuples(st.integers(0, SESSION + 1), st.integers(0, SESSION))),
        step("receive_unclaimed", consumers, st.integers(1, 6)),
        step("leave", consumers),
        step("close", consumers),
    ),
    step("ack_owned", consumers, picks),
    st.one_of(
        step("hold_owned", slots, consumers, picks),
        step("hold_owned", slots, consumers, picks),
        step("hold_cumulative", st.sampled_from([0, 0, 1]), st.just("c1"), st.integers(0, 24)),
        step("settle", slots, st.booleans()),
    ),
    st.one_of(
        step("ack", consumers, picks),
        step("hold", slots, consumers, picks),
        step("ack_cumulative", consumers, st.integers(0, 24)),
    ),
    st.one_of(
        step("nack", consumers, st.none() | picks, st.sampled_from([0, 5_000])),
        step("extend", consumers, st.none() | picks, st.sampled_from([5_000, ACK_TIMEOUT])),
        step("wait", st.sampled_from([1_000, SESSION + 1, ACK_TIMEOUT + 1])),
        step("trim", st.integers(1, 10)),
        st.one_of(
            step("seek", st.sampled_from(["earliest", "latest", 3])),
            step("snapshot"),
            step("restore"),
            step("restore"),
            step("gap", st.sampled_from([1, 2, 7, 7, CHUNK + 3])),
        ),
    ),
)


class Run:
    """Both sides of a history; one method for each kind of step."""

    def __init__(self, client: Any, prefix: str, kind: str, buffer: str, start: int) -> None:
        self.log = FakeLog(client, prefix, next_offset=start)
        self.sub = Subscription(self.log, kind=kind)
        self.model = Model(kind, start)
        self.what: dict[int, str] = {}  # offset → data, or what makes it undeliverable
        self.open: dict[str, list[int]] = {}  # producer → offsets of its transaction in the log
        self.is_sidecar, self.aside = buffer == "sidecar", dict[str, int]()  # producer → records outside of the log
        self.epochs: dict[str, int] = {}  # as claimed
        self.requests, self.flight = 0, dict[str, tuple[str, int]]()  # consumer → its last named request, and attempt
        self.kept: tuple[int, set[int]] = (start, set())
        self.serials = [0, 9_007_199_254_740_993, 7, 281_474_976_710_655]

    def step(self, name: str, *args: Any) -> None:
        event(name)
        getattr(self, name)(*args)
        content = self.sub.content()
        assert (content.mark, content.read) == (self.model.mark, self.model.read)
        states = {o: s for o, s in self.model.at.items() if s != DONE}
        assert {o: Leased(*s) for o, s in content.leases.items()} | {
            o: Held(*s) for o, s in content.pending.items()
        } == states

    def compare(self, reply: list[Any], expected: Any) -> None:
        if isinstance(expected, Status):
            assert reply[0] == expected
        else:
            assert reply[:2] == [Status.OK, expected]

    def near(self, picks: list[int]) -> list[int]:
        """Picks as offsets around the mark."""
        return sorted({max(0, self.model.mark - 2 + pick) for pick in picks})

    def owned(self, consumer: str, picks: list[int]) -> list[int]:
        mine = sorted(
            o for o, s in self.model.at.items() if isinstance(s, Leased) and s.consumer in ("", "%", consumer)
        )
        return sorted({mine[pick % len(mine)] for pick in picks}) if mine else self.near(picks)

    def append(self, records: int, producer: str | None) -> None:
        if self.is_sidecar and producer is not None:
            self.aside[producer] = self.aside.get(producer, 0) + records
            return
        base = self.log.append(records, producer=producer or "-1", in_txn=producer is not None)
        offsets = range(base, base + records)
        self.what.update(dict.fromkeys(offsets, "data"))
        if producer:
            self.open.setdefault(producer, []).extend(offsets)

    def end(self, producer: str, commit: bool) -> None:
        records = self.aside.pop(producer, 0)
        if records and commit:
            base = self.log.commit_sidecar(records, producer=producer)
            self.what.update(dict.fromkeys(range(base, base + records), "data"))
        if producer in self.open:
            self.what[self.log.end(producer, commit=commit)] = "marker"
            offsets = self.open.pop(producer)
            if not commit:
                self.what.update(dict.fromkeys(offsets, "aborted"))

    def gap(self, offsets: int) -> None:
        self.what.update(dict.fromkeys(range(self.log.next, self.log.next + offsets), "gap"))
        self.log.gap(offsets)

    def receive(
        self, consumer: str, most: int, pick: int | None, request: str = "", attempt: int = 0, *, claims: bool = True
    ) -> None:
        after = None if pick is None else self.near([pick])[0]
        if claims and not self.claimed(consumer):
            return
        epoch = self.epochs.get(consumer, "")
        expected = self.model.receive(consumer, most, after, self.sub.now, self.log, self.what, request, attempt)
        reply = self.sub.receive_raw(
            consumer, most, epoch=epoch, after="" if after is None else after, unseen=after is not None,
            request=f"{request}.{attempt}" if request else "", again=int(attempt > 0),
        )  # fmt: skip
        if isinstance(expected, Status):
            assert reply[0] == expected
            return
        got = {o: reply[i + 2] for i in range(6, len(reply), 11) for o in range(reply[i], reply[i + 1] + 1)}
        assert got == expected
        assert reply[3] == self.log.stable
        if attempt or not self.flight.get(consumer, ("", 0))[1]:
            due = [s.deadline for s in self.model.at.values() if isinstance(s, Leased)]
            assert reply[1:3] == [self.model.mark, self.model.read]
            assert reply[4:6] == [self.model.is_more, min(due, default=-1)]

    def claimed(self, consumer: str) -> bool:
        """Whether it is the owner, if there are owners."""
        self.claim(consumer, None)
        owner = self.model.owner
        return owner is None or owner.name == consumer

    def claim(self, consumer: str, pause: tuple[int, int] | None) -> None:
        if self.model.owner is None:
            return
        now, ago = self.sub.now, None
        if pause is not None:
            ago = (sum(pause), pause[1])
        outage = None if ago is None else (now - ago[0], now - ago[1])
        expected = self.model.owner.claim(consumer, now, outage, self.sub.with_unacked())
        reply = self.sub.own(consumer, pause=ago)
        if expected == Status.NOT_OWNER:
            assert reply[:3] == [Status.OK, -1, self.model.owner.name]
        elif expected is None:
            self.epochs[consumer] = reply[1]
            assert reply == [Status.OK, self.model.owner.epoch]
        else:
            assert reply[0] == expected

    def receive_unclaimed(self, consumer: str, most: int) -> None:
        """With the epoch of its last ownership."""
        self.receive(consumer, most, None, claims=False)

    def lost_receive(self, consumer: str, most: int, is_reserved: bool) -> None:
        self.requests += 1
        self.flight[consumer] = (f"{'~' if is_reserved else ''}r{self.requests}", 0)
        self.receive(consumer, most, None, *self.flight[consumer])

    def receive_again(self, consumer: str, most: int) -> None:
        if consumer in self.flight:
            name, attempt = self.flight[consumer]
            self.flight[consumer] = (name, attempt + 1)
            self.receive(consumer, most, None, *self.flight[consumer])

    def late_attempt(self, consumer: str) -> None:
        """The first attempt of its last request arrives behind later ones."""
        if consumer in self.flight and self.flight[consumer][1] > 0:
            self.receive(consumer, 5, None, self.flight[consumer][0], 0)

    def leave(self, consumer: str) -> None:
        assert self.sub.leave(consumer) == [Status.OK]
        self.model.leave(consumer)
        self.flight.pop(consumer, None)

    def close(self, consumer: str) -> None:
        self.nack(consumer, None, 0)
        self.leave(consumer)

    def ack(self, consumer: str, picks: list[int]) -> None:
        offsets = self.near(picks)
        self.compare(self.sub.ack(offsets, consumer), self.model.ack(offsets, consumer))

    def ack_owned(self, consumer: str, picks: list[int]) -> None:
        offsets = self.owned(consumer, picks)
        self.compare(self.sub.ack(offsets, consumer), self.model.ack(offsets, consumer))

    def ack_cumulative(self, consumer: str, pick: int) -> None:
        offset = self.near([pick])[0]
        expected = self.model.ack_cumulative(offset, consumer)
        self.compare(self.sub.ack_cumulative(offset, consumer), expected)

    def txn(self, slot: int) -> str:
        return f"{COORDINATORS[slot]}-{self.serials[slot]}"

    def hold(self, slot: int, consumer: str, picks: list[int]) -> None:
        offsets, txn = self.near(picks), self.txn(slot)
        self.compare(self.sub.hold(txn, offsets, consumer), self.model.hold(txn, offsets, consumer))

    def hold_owned(self, slot: int, consumer: str, picks: list[int]) -> None:
        offsets, txn = self.owned(consumer, picks), self.txn(slot)
        self.compare(self.sub.hold(txn, offsets, consumer), self.model.hold(txn, offsets, consumer))

    def hold_cumulative(self, slot: int, consumer: str, pick: int) -> None:
        offset, txn = self.near([pick])[0], self.txn(slot)
        expected = self.model.hold_cumulative(txn, offset, consumer)
        repeated = [self.sub.hold_cumulative(txn, offset, consumer) for _ in range(2)]
        assert repeated[0] == repeated[1]
        self.compare(repeated[0], expected)

    def settle(self, slot: int, commit: bool) -> None:
        assert self.sub.settle(self.txn(slot), commit=commit) == self.model.settle(self.txn(slot), commit, self.sub.now)
        assert self.sub.settle(self.txn(slot), commit=not commit) == 0
        self.serials[slot] += 1

    def nack(self, consumer: str, picks: list[int] | None, delay: int) -> None:
        offsets = None if picks is None else self.near(picks)
        expected = self.model.nack(offsets, consumer, self.sub.now + delay)
        self.compare(self.sub.nack(offsets, consumer, delay), expected)

    def extend(self, consumer: str, picks: list[int] | None, ms: int) -> None:
        offsets = None if picks is None else self.owned(consumer, picks)
        expected = self.model.extend(offsets, consumer, self.sub.now + ms)
        reply = self.sub.extend(offsets, consumer, wait=ms)
        assert [o for i in range(2, len(reply), 2) for o in range(reply[i], reply[i + 1] + 1)] == expected

    def wait(self, ms: int) -> None:
        self.sub.now += ms

    def seek(self, where: Any) -> None:
        at = {"earliest": self.log.start, "latest": self.log.next}.get(where)
        if at is None:
            at = where = min(max(self.model.mark - where, self.log.start), self.log.next)
        assert self.sub.seek(where) == [Status.OK, str(at)]
        self.model.seek(at)

    def snapshot(self) -> None:
        self.kept = self.model.snapshot()
        mark, ranges = self.sub.snapshot()
        assert (mark, ranges) == (self.kept[0], to_ranges(self.kept[1]))

    def restore(self) -> None:
        mark, acked = self.kept
        assert self.sub.restore(mark, to_ranges(acked)) == [Status.OK, str(mark)]
        self.model.seek(mark, acked)

    def trim(self, offsets: int) -> None:
        self.log.trim(min(self.log.start + offsets, self.log.stable))
        stats = self.sub.stats()
        self.model.trim(self.log.start)
        states = self.model.at.values()
        counts = (sum(isinstance(s, Leased) for s in states), sum(isinstance(s, Held) for s in states))
        delivered = sum(isinstance(s, Leased) and s.consumer not in ("", "%") for s in states)
        assert (stats["leased"], stats["held"]) == (delivered, counts[1])
        new = range(self.model.read, self.log.stable)
        ahead = sum(self.what[o] == "data" and o not in self.model.ahead for o in new)
        assert (stats["backlog"], stats["exact"]) == (sum(counts) + ahead, 1)
        acked = sum(o in self.model.ahead for o in new)
        assert stats["acked"] == self.model.read - self.model.mark - sum(counts) + acked


@pytest.mark.parametrize("buffer", ["marker", "sidecar"])
@pytest.mark.parametrize("kind", ["shared", "exclusive", "failover"])
def test_any_history_leaves_every_offset_where_the_model_has_it(redis_url, prefix, kind, buffer):
    numbers = count()

    @settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
    @given(st.sampled_from([0, 0, CHUNK - 6, 3 * CHUNK - 3]), st.lists(steps, min_size=15, max_size=60))
    def check(start: int, history: list[tuple[Any, ...]]) -> None:
        # Given a subscription with something to read
        run = Run(client, f"{prefix}-{next(numbers)}", kind, buffer, start)
        run.step("append", 9, None)
        run.step("receive", "c1", 6, None)
        # When anything happens to it, then after each step it stands where the model stands
        for each in history:
            run.step(*each)

    with connected(redis_url) as client:
        check()
