"""A broker dies at any write while it schedules and fires: another one continues, and each record arrives once.

The scenario schedules, in transactions too, seals, merges, loads, cancels, moves, fires, and lets a record repeat.  It
is cut at its first write, its second, and so on, until it survives: then every write has been passed.  What is stored
when it dies after a write is what is stored when it dies before the next one; `make test` runs the former.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.clock import ManualClock, SystemClock
from redis_ledger.delay.index import UNLISTED_MS_MAX, DelayIndex
from redis_ledger.ledger.entries import is_aborted
from redis_ledger.records.read import decode
from tests.support.broker import SHORT, eventually, live_transactions, one
from tests.support.crash_child import StepsReport
from tests.support.delayed_child import (
    MOVED_TO,
    REPEAT_MS,
    SCHEDULED,
    SETTINGS,
    STEPS,
    TOPIC,
    Case,
)
from tests.support.processes import ROOT
from tests.support.scheduled import HOUR_MS, LATE_MS_MAX, PATIENCE_S, ScheduledTopic

AT_ONCE = 12  # cases that are checked together
ATTEMPTS_MAX = 3  # the end of a transaction and the tracker write beside each other, in any order
WRITES = {
    "XADD+ledger/schedule", "delay/cancel", "delay/drop_snapshot", "delay/fire", "delay/load", "delay/move",
    "delay/rearm", "delay/replace", "delay/rotate", "delay/seal", "delay/set_repeat", "delay/settle", "delay/write",
    "txn/apply", "txn/apply_and_end", "txn/end",
}  # fmt: skip
DUES = {value: after for step in SCHEDULED.values() for value, after in step.items() if after is not None}


class Seen(NamedTuple):
    """A record in the log.  after_ms: when it became visible, by the time that was handed in, after the hour."""

    value: str
    after_ms: int


async def log_of(topic: ScheduledTopic, hour_ms: int) -> list[Seen]:
    partition = await topic.broker.catalog.partition(TOPIC, 0)
    found, offset = list[Seen](), 0
    while (read := await partition.reader.read(offset, committed=True, bytes_max=1 << 20)).entries:
        for entry, payload in zip(read.entries, read.payloads, strict=True):
            offset = entry.last_offset + 1
            if not entry.is_marker and not is_aborted(entry, read.aborted):
                found += [Seen((r.value or b"").decode(), entry.appended_ms - hour_ms) for r in decode(payload)]
    return found


async def is_quiet(topic: ScheduledTopic) -> bool:
    """Asserts that the dead process left nothing incomplete."""
    index = await topic.index()
    row = await index.scripts.command("HMGET", index.scripts.delay.state, "closing", "decided", "owed", "held")
    return await live_transactions(topic.broker) == 0 and [value or b"" for value in row] in (
        [b"", b"", b"", b""],
        *([b"", decided, owed, b"0"] for decided in (b"", b" ") for owed in (b"", b"0")),
    )


async def swept(topic: ScheduledTopic) -> set[str]:
    """Returns the snapshots left by a sweep when all unlisted ones are old."""
    index = await topic.index()
    clock = ManualClock(SystemClock().now_ms() + UNLISTED_MS_MAX + 1_000)
    store, config = topic.broker.store, topic.broker.config
    old = DelayIndex(store, index.scripts.keys, TOPIC, index.scripts._topic_id, lambda: config, clock, index._metrics)
    await old.sweep()
    return await topic.snapshots()


def times(report: StepsReport, value: str) -> set[int]:
    """The allowed numbers of deliveries of a value."""
    step = next(name for name in SCHEDULED if value in SCHEDULED[name])
    often = 2 if value == "r" else 1
    if step == "abort" or (value == "c" and "cancel" in report.finished):
        return {0}
    if value == "c" and next_step(report) == "cancel":
        return {0, 1}
    if step in report.finished:
        return {often}
    return {0, often} if next_step(report) == step else {0}


def next_step(report: StepsReport) -> str:
    """The step that was interrupted; "" if all finished."""
    return [*STEPS, ""][len(report.finished)]


def due_times(report: StepsReport, value: str) -> list[int]:
    """Returns the allowed due times; for a recurring record, each of them."""
    if value == "d" and "move" in report.finished:
        return [MOVED_TO]
    if value == "d" and next_step(report) == "move":
        return [MOVED_TO, DUES["d"]]
    return [DUES["r"], DUES["r"] + REPEAT_MS] if value == "r" else [DUES[value]]


async def gone_on_with(url: str, case: Case, report: StepsReport) -> None:
    """A new broker continues after the case."""
    settings = {**SETTINGS, **SHORT, "coordinators": 1}
    async with one(url, case.prefix, name="fresh", **settings) as broker:
        topic = ScheduledTopic(broker, TOPIC)
        assert await eventually(lambda: is_quiet(topic), True, PATIENCE_S), report.writes
        # Time goes by; what is due comes, and what is not does not
        for after in (9, 10, 12, 13, 21, 25, 39, 4_999):
            await topic.release(case.hour_ms + after)
            await broker.delayed.scan()  # a tracker that fires schedules the next of what repeats; here the test fires
            assert await eventually(lambda: is_quiet(topic), True, PATIENCE_S), report.writes
        await topic.release(case.hour_ms + 10_000)
        seen = await log_of(topic, case.hour_ms)
        counts = Counter(each.value for each in seen)
        for step in SCHEDULED.values():
            for value in step:
                assert counts[value] in times(report, value), (case.n, value, report.writes)
        for value in ("e", "f"):
            assert counts[value] == counts["n"], (case.n, "half a transaction")
        # None is early, and they are in due order
        delayed = [each for each in seen if each.value != "n"]
        turns: Counter[str] = Counter()
        dues = []
        for value, at in delayed:
            may_be = due_times(report, value)
            due = may_be[turns[value]] if value == "r" else max(each for each in may_be if each <= max(at, may_be[0]))
            turns[value] += 1
            assert at >= due, (case.n, value, at, due)
            dues.append(due)
        assert dues == sorted(dues), (case.n, delayed)
        # Nothing is left
        (stats,) = await broker.delayed.counts(TOPIC)
        assert (stats.records, stats.entries, stats.held) == (0, 0, 0), case.n
        assert await swept(topic) == set(), case.n


def nth_write(writes: Sequence[str], n: int) -> tuple[str, int]:
    """The n-th write: its name, and how many of that name there were with it."""
    return writes[n - 1], writes[:n].count(writes[n - 1])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_scheduled_records_survive_a_kill_at_any_write(run_case, redis_url, prefix, when):
    async def cut(n: int, attempt: int = 1) -> tuple[Case, StepsReport]:
        name = f"{prefix}-{n}-{attempt}"
        async with one(redis_url, name, **SETTINGS) as broker:
            await broker.topics.create(TOPIC)
            hour_ms = broker.delayed.now_ms() + HOUR_MS
        case = Case(redis_url, name, n, when, hour_ms)
        return case, await run_case(case)

    # Given the scenario, cut once at every write it makes
    cases = [await cut(0)]
    writes = cases[0][1].writes
    wanted = {nth_write(writes, n): n for n in range(1, len(writes) + 1)}
    for attempt in range(1, ATTEMPTS_MAX + 1):
        passed = {nth_write(report.writes, case.n) for case, report in cases if report.died}
        cases += [await cut(n, attempt) for write, n in wanted.items() if write not in passed]
    # Then each of them has been passed
    assert set(writes) >= WRITES
    assert {nth_write(report.writes, case.n) for case, report in cases if report.died} == wanted.keys()
    # And whatever was left, each record comes once, in order, and not before its time
    gate = asyncio.Semaphore(AT_ONCE)

    async def look(case: Case, report: StepsReport) -> None:
        async with gate:
            await gone_on_with(redis_url, case, report)

    await asyncio.gather(*(look(case, report) for case, report in cases))


# -- kill -9 of one of two ---------------------------------------------------------------------------------------------

PARTITIONS, RATE, SECONDS, LEAD_MS = 4, 1_000, 4, 10_000
VICTIM = """
import asyncio, sys
from tests.crash.test_delay_every_write import schedule_each
from tests.support.broker import one

async def main(url, prefix, count):
    async with one(url, prefix, name="victim") as broker:
        print("open", flush=True)
        first_ms = int(await asyncio.to_thread(sys.stdin.readline))
        await schedule_each(broker, first_ms, range(1, int(count), 2))
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


async def schedule_each(broker: Broker, first_ms: int, after_ms: range) -> None:
    records = [NewRecord(b"%d" % at, b"%d" % (first_ms + at), deliver_at_ms=first_ms + at) for at in after_ms]
    await asyncio.gather(*(broker.records.produce("t", [record]) for record in records))


async def test_one_of_two_brokers_is_killed_while_a_thousand_a_second_fall_due(redis_url, prefix):
    """One a millisecond, every other one scheduled by the broker that dies in the middle of it."""
    async with one(redis_url, prefix, name="survivor") as broker:
        await broker.topics.create("t", PARTITIONS)
        count = RATE * SECONDS
        victim = await asyncio.create_subprocess_exec(
            sys.executable, "-c", VICTIM, redis_url, prefix, str(count), cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert victim.stdout is not None
        assert victim.stdin is not None
        try:
            assert await victim.stdout.readline() == b"open\n"
            first_ms = broker.delayed.now_ms() + LEAD_MS
            victim.stdin.write(b"%d\n" % first_ms)
            await schedule_each(broker, first_ms, range(0, count, 2))
            assert await victim.stdout.readline() == b"ready\n"
            # Due times are the order of what is scheduled in time, so all of it must be
            assert broker.delayed.now_ms() < first_ms, "the machine was too slow"
            # When it is killed in the middle
            await asyncio.sleep((first_ms + random.Random(1).randrange(1_000, 3_000) - broker.delayed.now_ms()) / 1000)
            victim.send_signal(signal.SIGKILL)
        finally:
            if victim.returncode is None:
                victim.kill()
            await victim.wait()
        # Then every record comes once, at or after its time, and none much later
        topic = ScheduledTopic(broker, "t")

        assert await eventually(lambda: end_of(topic), count, PATIENCE_S) == count
        seen: list[tuple[int, int]] = []
        for number in range(PARTITIONS):
            seen += await dues_and_times(topic, number)
        assert Counter(due for due, _ in seen) == Counter(range(first_ms, first_ms + count))
        assert all(at >= due for due, at in seen)
        assert max(at - due for due, at in seen) < LATE_MS_MAX


async def end_of(topic: ScheduledTopic) -> int:
    """Records of all partitions."""
    partitions = [await topic.broker.catalog.partition("t", number) for number in range(PARTITIONS)]
    return sum([(await partition.offsets.head()).end_offset for partition in partitions])


async def dues_and_times(topic: ScheduledTopic, number: int) -> list[tuple[int, int]]:
    """Due time (which is its value) and time of the log entry of every record; in due order, as they were fired."""
    partition = await topic.broker.catalog.partition("t", number)
    found, offset = list[tuple[int, int]](), 0
    while (read := await partition.reader.read(offset, committed=True, bytes_max=1 << 20)).entries:
        for entry, payload in zip(read.entries, read.payloads, strict=True):
            offset = entry.last_offset + 1
            found += [(int(record.value or b"0"), entry.appended_ms) for record in decode(payload)]
    assert found == sorted(found, key=lambda each: each[0])
    return found
