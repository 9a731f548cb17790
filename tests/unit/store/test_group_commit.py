"""Group commit: later items share the next call, limits hold, order is kept, and no item is lost."""

from __future__ import annotations

import asyncio

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.group_commit import Turnstile, trigger_of
from tests.support.group_commit import Other, turn


async def test_items_added_in_one_tick_share_a_call():
    other = Other()
    other.add("abc")
    assert (other.sent, len(other.group), other.group.is_idle) == ([], 3, False)
    await turn()
    assert (other.batches, len(other.group), other.group.is_idle) == (["abc"], 0, False)
    await other.answer()
    assert (other.settled, other.group.is_idle) == ([["a", "b", "c"]], True)


async def test_items_added_during_a_call_share_the_next_call():
    other = Other()
    other.add("a")
    await turn()
    for item in "bcd":
        other.add(item)
        await turn()
    assert other.batches == ["a"]
    await other.answer()
    assert other.batches == ["a", "bcd"]


async def test_the_next_call_is_written_before_the_callers_of_the_last_one_resume():
    """A connection writes what it was given at the end of the tick, so Redis would wait for all of them."""
    other, order = Other(), list[str]()
    send, settle = other._send, other._settle

    def sent(items: list[str]) -> asyncio.Future[None]:
        asyncio.get_running_loop().call_soon(order.append, f"written {items}")
        return send(items)

    def settled(items: list[str], done: asyncio.Future[None]) -> None:
        order.append(f"settled {items}")
        settle(items, done)

    other.group._send, other.group._settle = sent, settled
    other.add("a")
    await turn()
    other.add("b")
    await other.answer()
    assert order == ["written ['a']", "written ['b']", "settled ['a']"]


@pytest.mark.parametrize(
    ("limits", "size", "batches"),
    [
        ({"items_max": 2}, 1, ["ab", "cd", "e"]),
        ({"items_max": 1}, 1, ["a", "b", "c", "d", "e"]),
        ({"bytes_max": 30}, 10, ["abc", "de"]),
        ({"bytes_max": 29}, 10, ["ab", "cd", "e"]),
        ({"bytes_max": 9}, 10, ["a", "b", "c", "d", "e"]),  # too large for any call: each travels alone
        ({"items_max": 4, "bytes_max": 20}, 10, ["ab", "cd", "e"]),
    ],
)
async def test_a_call_keeps_to_its_thresholds_and_to_the_order(limits, size, batches):
    """BW-02"""
    other = Other(**limits)
    other.add("abcde", size)
    await turn()
    while not other.group.is_idle:
        await other.answer()
    assert other.batches == batches


async def test_callers_resume_in_the_order_of_their_calls_if_one_fails_at_once():
    other = Other(items_max=1)
    other.add("ab")
    await turn()
    other.refuses = StoreUnavailable()
    await other.answer()
    assert [*zip(other.settled, [type(each) for each in other.errors], strict=True)] == [
        (["a"], type(None)),
        (["b"], StoreUnavailable),
    ]


async def test_groups_settle_in_the_order_of_their_replies_whether_items_wait_or_not():
    """The tail cache gets records and markers of a partition from several groups, and restarts at a gap."""
    first, second, order = Other(), Other(), list[list[str]]()
    for name, other in (("a", first), ("c", second)):
        other.group._settle = lambda items, _: order.append(items)
        other.add(name)
    await turn()
    first.add("b")
    for other in (first, second):  # one read from the connection
        flying, other.flying = other.flying, None
        assert flying is not None
        flying.set_result(None)
    await turn()
    assert order == [["a"], ["c"]]


async def test_failure_reaches_only_the_items_of_its_call():
    """BW-12"""
    other = Other(items_max=2)
    other.add("abcd")
    await turn()
    lost = ConnectionError("lost")
    await other.answer(lost)
    await other.answer()
    assert (other.settled, other.errors) == ([["a", "b"], ["c", "d"]], [lost, None])


async def test_call_that_cannot_start_fails_like_a_failed_call():
    other = Other()
    other.refuses = ValueError("no")
    other.add("ab")
    await turn()
    assert (other.settled, other.errors, other.group.is_idle) == ([["a", "b"]], [other.refuses], True)
    other.refuses = None
    other.add("c")
    await turn()
    assert other.batches == ["c"]


async def test_items_put_back_are_sent_first():
    other = Other(items_max=3)
    other.add("abc")
    await turn()
    other.add("d")
    other.group.put_back(["b", "c"], [1, 1])
    await other.answer()
    assert other.batches == ["abc", "bcd"]


async def test_putting_back_when_nothing_is_in_flight_sends():
    other = Other()
    other.group.put_back(["a", "b"], [1, 1])
    await turn()
    assert other.batches == ["ab"]


async def test_a_settle_that_raises_does_not_stop_the_rest():
    raised = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context["exception"]))
    other = Other(items_max=1)
    settle = other._settle

    def broken(items: list[str], done: asyncio.Future[None]) -> None:
        settle(items, done)
        raise AssertionError("a broken promise")

    other.group._settle = broken
    other.add("ab")
    await turn()
    await other.answer()
    await other.answer()
    assert (other.settled, len(raised)) == ([["a"], ["b"]], 2)


# -- triggers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "size", "following", "is_late", "trigger"),
    [
        (1, 10, None, False, "idle"),
        (3, 30, None, False, "idle"),
        (1, 10, None, True, "delay"),
        (4, 40, None, True, "records"),
        (4, 40, 10, False, "records"),
        (4, 40, 101, False, "records"),
        (3, 95, 10, False, "bytes"),
        (3, 95, 10, True, "bytes"),
        (3, 30, 101, False, "large"),
        (1, 101, None, False, "alone"),
        (1, 101, 10, True, "alone"),
        (1, 100, 10, False, "alone"),
        (2, 20, 100, False, "large"),
        (1, 99, 10, False, "bytes"),
        (3, 100, None, False, "bytes"),
        (3, 100, None, True, "bytes"),
    ],
)
def test_a_call_has_one_trigger(items, size, following, is_late, trigger):
    """BW-02"""
    assert trigger_of(items, size, following, items_max=4, bytes_max=100, is_late=is_late) == trigger


async def test_every_call_is_reported_with_its_items_size_and_trigger():
    flushed: list[tuple[str, int, str]] = []
    other = Other(
        items_max=3, bytes_max=100, lazy_ms=1, on_flush=lambda *flush: flushed.append(("".join(flush[0]), *flush[1:]))
    )
    other.add("abcd", 10)
    other.add("e", 90)
    other.add("f", 200)
    await turn()
    while not other.group.is_idle:
        await other.answer()
    other.add("g", 5, lazy=True)
    while len(other.sent) < 4:
        await asyncio.sleep(0)
    await other.answer()
    other.add("h", 5)
    await turn()
    assert flushed == [
        ("abc", 30, "records"), ("de", 100, "large"), ("f", 200, "alone"), ("g", 5, "delay"), ("h", 5, "idle"),
    ]  # fmt: skip


# -- the turnstile -----------------------------------------------------------------------------------------------------


async def test_calls_of_few_items_go_side_by_side_and_large_ones_in_turn():
    """TS-25"""
    # Given three groups that share a turnstile of 4 items
    turnstile = Turnstile(4)
    others = [Other(items_max=8, turnstile=lambda: turnstile) for _ in range(3)]
    # When two small calls and a large one are ready in one tick
    for other, items in zip(others, ("ab", "cd", "efghi"), strict=True):
        other.add(items)
    await turn()
    # Then the small ones are under way, and the large one goes when it is alone
    assert [other.batches for other in others] == [["ab"], ["cd"], []]
    await others[0].answer()
    assert others[2].batches == []
    await others[1].answer()
    assert others[2].batches == ["efghi"]


async def test_waiting_items_are_sent_before_callers_resume():
    turnstile = Turnstile(1)
    first, second = (Other(turnstile=lambda: turnstile) for _ in range(2))
    seen: list[list[str]] = []
    first._settle = lambda items, done: seen.append(second.batches)  # type: ignore[method-assign]
    first.group._settle = first._settle
    first.add("a")
    second.add("b")
    await turn()
    assert (first.batches, second.batches) == (["a"], [])
    await first.answer()
    assert seen == [["b"]]


async def test_a_call_that_waits_takes_along_what_came_meanwhile():
    turnstile = Turnstile(1)
    first, second = (Other(turnstile=lambda: turnstile) for _ in range(2))
    first.add("a")
    second.add("b")
    await turn()
    second.add("cd")
    await first.answer()
    assert second.batches == ["bcd"]


@pytest.mark.parametrize("fails", ["to start", "in flight"])
async def test_a_failed_call_gives_its_place_back(fails):
    """TS-25"""
    turnstile = Turnstile(1)
    first, second = (Other(turnstile=lambda: turnstile) for _ in range(2))
    if fails == "to start":
        first.refuses = RuntimeError("no")
    first.add("a")
    second.add("b")
    await turn()
    if fails == "in flight":
        await first.answer(RuntimeError("lost"))
    assert second.batches == ["b"]


async def test_nothing_overtakes_what_is_put_back():
    other = Other(items_max=2, puts_back=lambda _items, _done: True)
    other.add("ab")
    await turn()
    other.add("cd")
    settle = other._settle

    def refuse_once(items, done):
        settle(items, done)
        other.group._settle = settle
        other.group.put_back(items, [1] * len(items))

    other.group._settle = refuse_once
    await other.answer()
    await other.answer()
    assert other.batches == ["ab", "ab", "cd"]


async def test_waiters_fail_at_once_if_the_other_side_is_down():
    # Given a call under way, others waiting in its group, and other groups waiting at the turnstile
    turnstile = Turnstile(1)
    first, second, third = (Other(items_max=2, turnstile=lambda: turnstile) for _ in range(3))
    first.add("abcd")
    await turn()
    second.add("e")
    third.add("f")
    await turn()
    assert (first.batches, second.batches, third.batches) == (["ab"], [], [])
    # When the call could not be sent for as long as one waits
    await first.answer(StoreUnavailable())
    # Then all of its group have failed with it, and the other groups ask side by side
    assert (first.settled, first.batches) == ([["a", "b", "c", "d"]], ["ab"])
    assert (second.batches, third.batches) == (["e"], ["f"])
