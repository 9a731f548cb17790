"""lua/include/aborted_checkpoints: a receive reads few of thousands of aborts and returns no aborted record."""

from __future__ import annotations

import random

import pytest

from redis_ledger.ledger.entries import covers, is_aborted, parse_aborted, parse_log
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import Subscription
from tests.support.fake_log import FakeLog

ABORTS = 700


def behind_an_old_one(log: FakeLog, aborts: int = ABORTS) -> list[int]:
    """Aborts while one transaction is open, and what a subscription is to get once that has committed."""
    wanted = [log.append(producer="1", in_txn=True)]
    for n in range(aborts):
        log.append(producer=str(100 + n), in_txn=True)
        log.end(str(100 + n), commit=False)
        if n % 50 == 0:
            wanted.append(log.append())
    log.end("1", commit=True)
    wanted.append(log.append())
    return wanted


def all_of(sub: Subscription) -> tuple[list[int], int]:
    """Everything there is, in the order of delivery, and how many calls it took."""
    got: list[int] = []
    for calls in range(1, 200):
        reply = sub.receive(most=100)
        got += reply.offsets
        if not reply.more:
            return got, calls
    raise AssertionError("there is always more")


def walk_of(log: FakeLog) -> str | None:
    text = log.client.hget(log.keys.state, "aborts")
    return None if text is None else text.decode()


def stops(log: FakeLog) -> list[int]:
    return [
        int(score)
        for member, score in log.client.zrange(log.keys.aborted, 0, -1, withscores=True)
        if member[:1] == b"-"
    ]


def test_nothing_aborted_comes_out_and_nothing_else_is_lost(log):
    wanted = behind_an_old_one(log)
    sub = Subscription(log)
    assert all_of(sub)[0] == wanted
    assert sub.content().leases.keys() == set(wanted)


def test_a_walk_leaves_checkpoints_and_the_next_reader_needs_none(log):
    wanted = behind_an_old_one(log)
    _, calls = all_of(Subscription(log))
    assert walk_of(log) == f"done {log.next}"
    assert len(stops(log)) in range(ABORTS // 32 - 1, ABORTS // 32 + 5)
    got, fewer = all_of(Subscription(log, "second"))
    assert (got, walk_of(log)) == (wanted, f"done {log.next}")
    assert fewer < calls


def test_few_aborts_need_no_walk(log):
    wanted = behind_an_old_one(log, 200)
    assert all_of(Subscription(log))[0] == wanted
    assert (walk_of(log), stops(log)) == (None, [])


def test_call_during_a_walk_returns_only_more(log):
    behind_an_old_one(log)
    sub = Subscription(log)
    sub.receive()
    assert str(walk_of(log)).startswith("walk ")
    before = sub.content()
    status, mark, read, _, more, _ = sub.receive_raw("c1")
    assert (status, mark, read, more) == (Status.OK, before.mark, before.read, 1)
    assert sub.content() == before


def test_another_subscription_continues_a_begun_walk(log):
    wanted = behind_an_old_one(log)
    Subscription(log).receive()
    assert all_of(Subscription(log, "second"))[0] == wanted


def test_records_aborted_during_a_walk_are_not_delivered(log):
    wanted = behind_an_old_one(log)
    sub = Subscription(log)
    sub.receive()
    log.append(producer="7", in_txn=True)
    log.append(producer="8", in_txn=True)
    sub.receive()
    log.end("8", commit=False)
    log.end("7", commit=False)
    wanted.append(log.append())
    assert sorted(set(all_of(sub)[0]) | set(sub.content().leases)) == wanted


def test_an_old_transaction_that_aborts_stays_out_whatever_lies_within(log):
    first = log.append(producer="1", in_txn=True)
    inside = []
    for n in range(ABORTS):
        log.append(producer=str(100 + n), in_txn=True)
        log.end(str(100 + n), commit=False)
        inside.append(log.append(producer="1", in_txn=True) if n % 7 == 0 else log.append())
    log.end("1", commit=False)
    got, _ = all_of(Subscription(log))
    assert first not in got
    assert got == [offset for n, offset in enumerate(inside) if n % 7]


def test_a_reader_that_knows_no_checkpoints_stops_at_them(log):
    """As brokers of an earlier release, and this one's Kafka fetch, read the set: by stable offset alone."""
    behind_an_old_one(log)
    all_of(Subscription(log))
    rows = log.client.zrangebyscore(log.keys.aborted, 600, "+inf", withscores=True, start=0, num=256)
    some = parse_aborted([part for row in rows for part in row])
    assert covers(some, 700, 256)
    every = log.client.zrange(log.keys.aborted, 1, -1, withscores=True)
    known = parse_aborted([part for row in every for part in row])
    rows = log.client.xrange(log.keys.log)
    entries = parse_log([(entry, [part for pair in fields.items() for part in pair]) for entry, fields in rows])
    for entry in entries:
        if 600 <= entry.base_offset < 700:
            assert is_aborted(entry, some) == is_aborted(entry, known)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 6))])
def test_any_overlap_gives_what_a_full_look_gives(log, seed):
    dice = random.Random(seed)
    opened: dict[str, list[int]] = {}
    wanted: list[int] = []
    number = 0
    for _ in range(2_200):
        what = dice.random()
        if what < 0.4 and len(opened) < 40:
            number += 1
            opened[str(number)] = [log.append(producer=str(number), in_txn=True)]
        elif what < 0.5 and opened:
            producer = dice.choice([*opened])
            opened[producer].append(log.append(producer=producer, in_txn=True))
        elif what < 0.55:
            wanted.append(log.append())
        elif opened:
            producer = dice.choice([*opened][: 3 if dice.random() < 0.1 else None][-10:])
            commit = dice.random() < 0.1
            mine = opened.pop(producer)
            wanted += mine if commit else []
            log.end(producer, commit=commit)
    for producer in [*opened]:
        wanted += opened.pop(producer)
        log.end(producer, commit=True)
    sub = Subscription(log)
    assert all_of(sub)[0] == sorted(wanted)
    assert all_of(Subscription(log, "again"))[0] == sorted(wanted)
