"""lua/cursor/ in pages: the effect of one page, and that all pages together have that of one call."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from redis_ledger.cursor import paged_acks
from redis_ledger.cursor.ranges import Range, to_ranges
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import NOW, CursorContent, Subscription
from tests.support.fake_log import FakeLog

COUNT = 3_000
TXN = "0-7"


def offsets_of(ranges: Sequence[Range]) -> list[int]:
    return [offset for first, last in ranges for offset in range(first, last + 1)]


class Paged:
    """Acts as a broker does, with pages of `most` leases; `calls` are the replies."""

    def __init__(self, sub: Subscription, most: int) -> None:
        self.sub, self.most, self.calls = sub, most, list[list[Any]]()

    def run(self, act: Any, offsets: Sequence[int]) -> int:
        async def one(some: Sequence[Range], how: paged_acks.How) -> list[Any]:
            self.calls.append(act(offsets_of(some), how=how, most=self.most))
            assert self.calls[-1][0] == Status.OK, self.calls[-1]
            return self.calls[-1]

        return asyncio.run(paged_acks.ack_in_pages(one, to_ranges(offsets)))

    def ack(self, offsets: Sequence[int]) -> int:
        return self.run(self.sub.ack, offsets)

    def hold(self, offsets: Sequence[int], txn: str = TXN) -> int:
        return self.run(lambda some, **how: self.sub.hold(txn, some, **how), offsets)

    def cumulate(self, act: Any, offset: int, *, is_sum: bool) -> int:
        async def one(first: int, how: paged_acks.How) -> list[Any]:
            self.calls.append(act(offset, how=how, most=self.most, first=first))
            assert self.calls[-1][0] == Status.OK, self.calls[-1]
            return self.calls[-1]

        return asyncio.run(paged_acks.ack_cumulative_in_pages(one, is_sum=is_sum))


def received(log: FakeLog, count: int = COUNT, kind: str = "shared", name: str = "sub") -> Subscription:
    if not log.next:
        log.append(count)
    sub = Subscription(log, name, kind=kind)
    assert len(sub.receive(most=count).offsets) == count
    return sub


def torn(log: FakeLog, count: int = COUNT, **more: Any) -> Subscription:
    """A lease for every other offset."""
    sub = received(log, count, **more)
    Paged(sub, 300).ack(range(1, count, 2))
    return sub


def same(content: CursorContent) -> tuple[Any, ...]:
    return content.mark, content.bits, content.leases, content.pending


@pytest.mark.parametrize("most", [1, 7, 300])
def test_pages_come_to_what_one_call_does(log, most):
    wanted = random.Random(most).sample(range(400), 180)
    one, many = received(log, 400, name="one"), received(log, 400, name="many")
    assert one.ack(wanted, most=10_000)[:2] == [Status.OK, len(wanted)]
    assert Paged(many, most).ack(wanted) == len(wanted)
    assert same(many.content()) == same(one.content())


def test_call_above_the_page_limit_changes_nothing_and_returns_reached(log):
    sub = torn(log)
    before = sub.content()
    status, count, _, reached = sub.ack(range(COUNT))
    assert (status, count) == (Status.OK, 0)
    assert 500 < reached < 700
    assert sub.content() == before


def test_a_check_changes_nothing(log):
    sub = torn(log)
    before = sub.content()
    assert sub.ack(range(COUNT), how="check")[3] > 0
    assert sub.ack([0, 2, 4], how="check") == [Status.OK, 0, 0]
    assert sub.hold(TXN, [0, 2, 4], how="check") == [Status.OK, 0, 0]
    assert sub.content() == before


def test_nothing_is_acknowledged_when_a_late_page_is_refused(log):
    sub = torn(log)
    sub.nack([COUNT - 2])
    sub.receive("c2")
    before = sub.content()
    with pytest.raises(AssertionError, match="NOT_LEASED"):
        Paged(sub, 100).ack(range(COUNT))
    assert sub.content() == before


def test_a_page_done_again_changes_nothing(log):
    sub = torn(log)
    first = sub.ack(range(COUNT), how="page")
    content = sub.content()
    assert sub.ack(range(first[3] + 1), how="page")[:2] == first[:2]
    assert same(sub.content()) == same(content)


def test_repeated_call_continues_after_pages_done_before_a_crash(log):
    sub = torn(log)
    sub.ack(range(COUNT), how="page")
    reached = sub.ack(range(COUNT), how="page")[3]
    assert reached < COUNT - 1
    assert Paged(sub, 300).ack(range(COUNT)) == COUNT
    assert sub.content().mark == COUNT


@pytest.mark.parametrize("most", [3, 300])
def test_a_cumulative_ack_goes_in_pages(log, most):
    sub = torn(log, 1_200, kind="exclusive")
    paged = Paged(sub, most)
    assert paged.cumulate(sub.ack_cumulative, 999, is_sum=True) == 500
    assert sub.content().mark == 1_000
    assert len(paged.calls) >= 500 // most


def test_a_cumulative_ack_is_refused_before_its_first_page(log):
    sub = torn(log, 1_200, kind="exclusive")
    sub.nack([998], unseen=True)
    before = sub.content()
    with pytest.raises(AssertionError, match="NOT_DELIVERED"):
        Paged(sub, 50).cumulate(sub.ack_cumulative, 1_100, is_sum=True)
    assert sub.content() == before


def test_nack_of_everything_goes_in_pages(log):
    sub = torn(log)
    first, pages_done, returned = 0, 0, 0
    while True:
        _, count, *reached = sub.nack(first=first, most=200)
        returned, pages_done = returned + count, pages_done + 1
        if not reached:
            break
        assert count <= 200
        first = reached[0] + 1
    assert (returned, pages_done) == (COUNT // 2, 8)
    assert {consumer for consumer, _, _ in sub.content().leases.values()} == {""}


def test_retention_passes_many_leases_in_steps(log):
    sub = torn(log)
    log.trim(COUNT - 10)
    marks: list[int] = []
    while not marks or marks[-1] < COUNT - 10:
        sub.stats()
        marks.append(sub.content().mark)
    assert len(marks) == 5


# Holding many ranges ------------------------------------------------------------------------------------------------


def scattered(sub: Subscription, count: int, seed: int = 1) -> list[int]:
    """One transaction acknowledges out of order, ten messages at a time."""
    chosen = random.Random(seed).sample(range(0, COUNT, 2), count)
    for at in range(0, count, 10):
        assert sub.hold(TXN, chosen[at : at + 10])[:2] == [Status.OK, 10]
    return chosen


def longest(sub: Subscription) -> int:
    return max(map(len, sub.log.client.hvals(sub.keys.pending)))


def test_no_value_grows_with_what_a_transaction_holds(log):
    sub = received(log)
    chosen = scattered(sub, 1_200)
    assert set(sub.content().pending) == set(chosen)
    assert longest(sub) < 3_000


def test_few_ranges_are_stored_as_ever(log):
    sub = received(log)
    sub.hold(TXN, [1, 5, 6])
    assert sub.log.client.hgetall(sub.keys.pending) == {b"": b"", b"0-7": f"I t{sub.now} @c1:3 1-1-0,5-6-0".encode()}


def test_holding_the_same_again_changes_nothing(log):
    sub = received(log)
    chosen = scattered(sub, 1_200)
    before = sub.content()
    assert Paged(sub, 300).hold(chosen) == len(chosen)
    assert same(sub.content()) == same(before)


def test_a_conflict_is_found_in_a_region(log):
    sub = received(log)
    chosen = scattered(sub, 1_200)
    status, offset, holder = sub.hold("0-8", [chosen[-1]])
    assert (status, offset, holder) == (Status.TXN_CONFLICT, chosen[-1], TXN)


def test_a_plain_ack_leaves_what_is_held_in_regions(log):
    sub = received(log)
    chosen = scattered(sub, 1_200)
    assert Paged(sub, 300).ack(range(COUNT)) == COUNT - len(chosen)
    assert set(sub.content().pending) == set(chosen)


@pytest.mark.parametrize("room", [1, 100, 5_000])
@pytest.mark.parametrize("commit", [True, False])
def test_the_end_settles_in_pages(log, commit, room):
    sub = received(log)
    chosen = scattered(sub, 300 if room == 1 else 1_200)
    steps, settled = 0, 0
    while sub.log.client.hlen(sub.keys.pending) > 1:
        settled, steps = settled + sub.settle(TXN, commit=commit, room=room), steps + 1
        assert steps <= len(chosen)
        if steps % 50 == 1:
            assert len(sub.content().pending) == len(chosen) - settled
    assert settled == len(chosen)
    content = sub.content()
    assert content.pending == {}
    back = {offset for offset, (consumer, _, due) in content.leases.items() if (consumer, due) == ("", NOW)}
    assert back == (set() if commit else set(chosen))
    assert sub.log.client.hlen(sub.keys.pending) == 1


def test_an_aborted_ack_counts_one_delivery_however_many_pages_it_took(log):
    sub = received(log)
    chosen = scattered(sub, 600)
    while sub.content().pending:
        sub.settle(TXN, commit=False, room=100)
    again = sub.receive("c2", most=COUNT)
    assert set(again.offsets) <= set(chosen)
    assert set(again.offsets.values()) == {1}


def test_retention_takes_what_a_transaction_holds(log):
    sub = received(log)
    chosen = scattered(sub, 1_200)
    log.trim(COUNT // 2)
    while sub.content().mark < COUNT // 2:
        sub.stats()
    left = {offset for offset in chosen if offset >= COUNT // 2}
    assert set(sub.content().pending) == left
    assert sub.settle(TXN, commit=False, room=5_000) == len(left)
    assert sub.content().mark == COUNT // 2


def test_a_cumulative_hold_goes_in_pages(log):
    sub = torn(log, 1_200, kind="exclusive")
    paged = Paged(sub, 100)
    assert paged.cumulate(lambda at, **how: sub.hold_cumulative(TXN, at, **how), 999, is_sum=False) == 500
    assert len(sub.content().pending) == 500
    assert sub.hold_cumulative(TXN, 999) == [Status.OK, 500, 0]
    assert sub.hold_cumulative(TXN, 998)[0] == Status.TXN_CONFLICT
    while sub.content().pending:
        sub.settle(TXN, commit=True, room=100)
    assert sub.content().mark == 1_000


def test_pending_acks_of_an_earlier_release_end_in_pages(log):
    """It kept all ranges in one value."""
    sub = received(log)
    chosen = sorted(scattered(sub, 800))
    client, pending = log.client, sub.keys.pending
    client.delete(pending)
    client.hset(pending, mapping={"": "", TXN: "I " + ",".join(f"{at}-{at}-0" for at in chosen)})
    client.hdel(sub.keys.cursor, "tracked")
    assert set(sub.content().pending) == set(chosen)
    more = next(at for at in range(0, COUNT, 2) if at not in chosen)
    assert sub.hold(TXN, [more])[:2] == [Status.OK, 1]
    settled = 0
    while sub.content().pending:
        settled += sub.settle(TXN, commit=True, room=300)
    assert settled == len(chosen) + 1
