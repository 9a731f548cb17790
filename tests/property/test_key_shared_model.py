"""Any history of a key_shared subscription keeps the promises of docs/decisions/0046, by a state for each record.

    WAITS | Leased(consumer, deadline) | Held(transaction) | DONE

The model does not know the slots, so it does not say which consumer gets a record.  It says what no consumer may get:
a record before an earlier one of its key, unless that is leased to the same consumer.  In the end, all are delivered.
"""

from __future__ import annotations

from itertools import count
from typing import Any, NamedTuple

from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from redis_ledger.cursor.ranges import Range
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, SESSION, connected
from tests.support.examples import examples
from tests.support.fake_log import FakeLog
from tests.support.key_shared import KeySharedSubscription

CONSUMERS, KEYS, TXNS = ("c1", "c2", "c3"), ("a", "b", "c", "d", None), ("0-1", "0-2")
WAITS, DONE = "waits", "done"


class Leased(NamedTuple):
    consumer: str
    deadline: int


class Held(NamedTuple):
    txn: str


def step(name: str, *args: Any) -> Any:
    return st.tuples(st.just(name), *args)


consumers, some = st.sampled_from(CONSUMERS), st.sets(st.integers(0, 30), min_size=1, max_size=4)
steps = st.one_of(
    step("append", st.lists(st.sampled_from(KEYS), min_size=1, max_size=6)),
    step("append", st.lists(st.sampled_from(KEYS), min_size=1, max_size=6)),
    step("abort_records", st.integers(1, 3)),
    step("receive", consumers, st.integers(1, 8), st.integers(1, 6)),
    step("receive", consumers, st.integers(1, 8), st.integers(1, 6)),
    step("receive", consumers, st.integers(1, 8), st.integers(1, 6)),
    step("lost_receive", consumers, st.integers(1, 8), st.integers(1, 6), st.booleans()),
    step("extend", consumers, st.none() | some, st.sampled_from([700, ACK_TIMEOUT])),
    step("receive_again", consumers, st.integers(0, 8), st.integers(1, 6)),
    step("late_attempt", consumers, st.integers(1, 8), st.integers(1, 6)),
    step("ack", consumers, some),
    step("ack", consumers, some),
    step("nack", consumers, some, st.sampled_from([0, 0, 700])),
    step("leave", consumers),
    step("hold", consumers, some, st.sampled_from(TXNS)),
    step("end", st.sampled_from(TXNS), st.booleans()),
    step("wait", st.sampled_from([100, 700, SESSION, ACK_TIMEOUT])),
    step("trim", st.integers(0, 20)),
    step("seek", st.integers(0, 30)),
    step("snapshot"),
    step("restore"),
)


class Run:
    def __init__(self, client: Any, prefix: str) -> None:
        self.log = FakeLog(client, prefix)
        self.key_of: dict[int, str] = {}
        self.sub = KeySharedSubscription(self.log, self.key_of)
        self.at: dict[int, Any] = {}  # records
        self.requests, self.flight = 0, dict[str, tuple[str, int]]()  # consumer → its last named request, and attempt
        self.request_of: dict[int, str] = {}  # of leases
        self.deliveries: dict[int, int] = {}  # that count
        self.kept: tuple[int, list[Range]] = (0, [])

    def step(self, name: str, *args: Any) -> None:
        event(name)
        getattr(self, name)(*args)
        self.sub.checked()

    def append(self, keys: list[str | None]) -> None:
        base = self.log.append(len(keys))
        for offset, key in enumerate(keys, base):
            self.at[offset] = WAITS
            if key is not None:
                self.key_of[offset] = key

    def abort_records(self, records: int) -> None:
        self.log.append(records, producer="7", in_txn=True)
        self.log.end("7", commit=False)

    def receive(self, consumer: str, most: int, window: int, request: str = "", attempt: int = 0) -> None:
        read = int(self.log.client.hget(self.sub.keys.cursor, "read"))
        got = self.sub.receive(
            consumer,
            most,
            window=(read, min(read + window, self.log.next)),
            request=f"{request}.{attempt}" if request else "",
            again=int(attempt > 0),
        )
        for offset in self.at:
            if isinstance(self.at[offset], Leased) and self.at[offset].deadline <= self.sub.now:
                self.give_back(offset)
        # Leases of earlier attempts that are not over come first, beyond the limit if need be
        mine = {o for o, name in self.request_of.items() if attempt and name == request and self.is_at(o, consumer)}
        assert mine <= got.offsets.keys()
        assert len(got.offsets) <= max(most, len(mine))
        for offset in sorted(got.offsets):
            assert offset in mine or self.at[offset] == WAITS, f"{offset} is {self.at[offset]}"
            # What it had got and has acknowledged in a transaction since does not keep a repetition back.
            earlier = [o for o in self.before(offset) if not (offset in mine and isinstance(self.at[o], Held))]
            assert all(self.is_at(each, consumer) for each in earlier), f"{offset} came too early"
            if not request.startswith("~") and not (attempt and offset in mine):
                self.deliveries[offset] = self.deliveries.get(offset, 0) + 1
            most_before = self.deliveries.get(offset, 0) - (not request.startswith("~"))
            assert got.offsets[offset] <= most_before, "a reserved delivery was counted"
            self.at[offset] = Leased(consumer, self.sub.now + ACK_TIMEOUT)
            self.request_of[offset] = request

    def lost_receive(self, consumer: str, most: int, window: int, is_reserved: bool) -> None:
        self.requests += 1
        self.flight[consumer] = (f"{'~' if is_reserved else ''}r{self.requests}", 0)
        self.receive(consumer, most, window, *self.flight[consumer])

    def receive_again(self, consumer: str, most: int, window: int) -> None:
        if consumer in self.flight:
            name, attempt = self.flight[consumer]
            self.flight[consumer] = (name, attempt + 1)
            self.receive(consumer, most, window, *self.flight[consumer])

    def late_attempt(self, consumer: str, most: int, window: int) -> None:
        """The first attempt of its last request arrives behind later ones."""
        name, attempt = self.flight.get(consumer, ("", 0))
        if attempt > 0:
            read = int(self.log.client.hget(self.sub.keys.cursor, "read"))
            window_ = (read, min(read + window, self.log.next))
            assert self.sub.receive(consumer, most, window=window_, request=f"{name}.0").offsets == {}

    def before(self, offset: int) -> list[int]:
        """Earlier records of the key that are not acknowledged."""
        key = self.key_of.get(offset)
        return [
            o for o in self.at if key is not None and o < offset and self.key_of.get(o) == key and self.at[o] != DONE
        ]

    def is_at(self, offset: int, consumer: str) -> bool:
        state = self.at[offset]
        return isinstance(state, Leased) and state.consumer == consumer

    def give_back(self, offset: int) -> None:
        """With those behind it of the same key."""
        self.at[offset] = WAITS
        for later in self.at:
            same = self.key_of.get(offset) is not None and self.key_of.get(later) == self.key_of.get(offset)
            if later > offset and same and isinstance(self.at[later], Leased):
                self.at[later] = WAITS

    def mine(self, consumer: str, places: set[int]) -> list[int]:
        found = [o for o in self.at if self.is_at(o, consumer)]
        return [offset for place, offset in enumerate(found) if place in places]

    def ack(self, consumer: str, places: set[int]) -> None:
        if offsets := self.mine(consumer, places):
            held = [offset for offset, state in self.at.items() if isinstance(state, Held)]  # skipped, and not counted
            assert self.sub.ack(sorted([*offsets, *held]), consumer)[:2] == [Status.OK, len(offsets)]
            self.at.update(dict.fromkeys(offsets, DONE))

    def nack(self, consumer: str, places: set[int], delay: int) -> None:
        if offsets := self.mine(consumer, places):
            assert self.sub.nack(offsets, consumer, delay)[:2] == [Status.OK, len(offsets)]
            for offset in offsets:
                self.count(offset)
                self.give_back(offset)

    def count(self, offset: int) -> None:
        """A reserved record was named, so its delivery counts."""
        if self.request_of.get(offset, "").startswith("~"):
            self.deliveries[offset] = self.deliveries.get(offset, 0) + 1
            self.request_of[offset] = ""

    def extend(self, consumer: str, places: set[int] | None, ms: int) -> None:
        offsets = [o for o in self.at if self.is_at(o, consumer)] if places is None else self.mine(consumer, places)
        if offsets or places is None:
            until = self.sub.now + ms
            reply = self.sub.extend(None if places is None else offsets, consumer, wait=ms)
            extended = [o for i in range(2, len(reply), 2) for o in range(reply[i], reply[i + 1] + 1)]
            assert extended == offsets or places is None
            for offset in offsets:
                self.at[offset] = Leased(consumer, max(self.at[offset].deadline, until))
                if places is not None:
                    self.count(offset)

    def leave(self, consumer: str) -> None:
        self.sub.nack(None, consumer)
        self.sub.leave(consumer)
        self.flight.pop(consumer, None)
        for offset in self.at:
            if self.is_at(offset, consumer):
                self.at[offset] = WAITS

    def hold(self, consumer: str, places: set[int], txn: str) -> None:
        if offsets := self.mine(consumer, places):
            assert self.sub.hold(txn, offsets, consumer)[0] == Status.OK
            self.at.update(dict.fromkeys(offsets, Held(txn)))
            for offset in offsets:
                self.count(offset)

    def end(self, txn: str, commit: bool) -> None:
        self.sub.settle(txn, commit=commit)
        for offset, state in list(self.at.items()):
            if state == Held(txn):
                if commit:
                    self.at[offset] = DONE
                else:
                    self.give_back(offset)

    def wait(self, ms: int) -> None:
        self.sub.now += ms

    def trim(self, start: int) -> None:
        start = min(max(start, self.log.start), self.log.stable)
        self.log.trim(start)
        self.sub.stats()
        self.at.update({offset: DONE for offset in self.at if offset < start})

    def seek(self, offset: int) -> None:
        at = min(max(offset, self.log.start), self.log.next)
        assert self.sub.seek(at)[0] == Status.OK
        self.at.update({each: DONE if each < at else WAITS for each in self.at})

    def snapshot(self) -> None:
        self.kept = mark, ranges = self.sub.snapshot()
        start = max(mark, self.log.start)  # the mark of a cursor that no call has read since a trim may be below it
        acked = {o for o in self.at if o < start or any(first <= o <= last for first, last in ranges)}
        assert acked == {o for o, state in self.at.items() if state == DONE}

    def restore(self) -> None:
        mark, ranges = self.kept
        assert self.sub.restore(mark, ranges)[0] == Status.OK
        for o in self.at:
            is_acked = o < max(mark, self.log.start) or any(first <= o <= last for first, last in ranges)
            self.at[o] = DONE if is_acked else WAITS

    def drain(self) -> None:
        """Everything is delivered in the end, and acknowledged."""
        for txn in TXNS:
            self.end(txn, commit=False)
        for consumer in CONSUMERS[1:]:
            self.leave(consumer)
        self.wait(2 * ACK_TIMEOUT)
        for _ in range(200):
            self.receive(CONSUMERS[0], 50, 50)
            read = int(self.log.client.hget(self.sub.keys.cursor, "read"))
            if read == self.log.next and all(state == DONE for state in self.at.values()):
                break
            self.ack(CONSUMERS[0], set(range(100)))
            self.wait(1)
        assert {offset: state for offset, state in self.at.items() if state != DONE} == {}
        content = self.sub.checked()
        assert content.mark == content.read == self.log.next


def test_any_history_keeps_keys_in_order_and_delivers_everything(redis_url, prefix):
    numbers = count()

    @settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, min_size=15, max_size=60))
    @example(
        [
            ("append", ["a", "a"]),
            ("lost_receive", "c1", 8, 6, False),
            ("hold", "c1", {0}, "0-1"),
            ("receive_again", "c1", 0, 1),
        ]
    )
    def check(history: list[Any]) -> None:
        run = Run(client, f"{prefix}-{next(numbers)}")
        for name, *args in history:
            run.step(name, *args)
        run.drain()

    with connected(redis_url) as client:
        check()
