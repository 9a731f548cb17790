"""A broker dies at any write of a Kafka client's transaction: the retry at another broker is exactly once.

The step gets an identity, writes two topics, commits a group's offset and ends, in the protocol of both transaction
versions. It is cut at its first write, its second, and so on. Then a producer of the same id begins again, as a
client does that was restarted: it looks at the group's offset, and does the step again if it is not there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest

from redis_ledger.broker.broker import Broker
from tests.support.broker import eventually, live_transactions, one, outstanding, visible
from tests.support.crash_child import GROUP, INPUT, Case, Report, kafka_step
from tests.support.forked_cases import ForkedCases
from tests.support.sidecar import MARKER, MIXED, all_buffered, appends, create_sinks

OUTPUT = [value.upper() for value in INPUT]
ALWAYS = {"cursor/offset_commit": 1}
IN_SEVERAL_CALLS = {"txn/apply": 6, "txn/end": 3}  # identity; two partitions; the group; the end; done
IN_ONE_CALL = {"txn/apply": 4, "txn/apply_and_end": 1}


async def prepared(
    broker: Broker, url: str, step: str, when: str, n: int, in_one_call: bool, buffers: Sequence[str]
) -> Case:
    names = [f"{role}-{n}" for role in ("in", "left", "right")]
    await broker.topics.create(names[0])
    await create_sinks(broker, names[1:], buffers)
    prefix, any_step, any_when = broker.config.prefix, cast("Any", step), cast("Any", when)
    return Case(url, prefix, any_step, names[0], names[1:], n, any_when, 0, 0, in_one_call)


async def cut_at_every_write(
    run_case: ForkedCases, broker: Broker, url: str, step: str, when: str, in_one_call: bool, buffers: Sequence[str]
) -> list[tuple[Case, Report]]:
    cases = []
    for n in range(1, 50):
        case = await prepared(broker, url, step, when, n, in_one_call, buffers)
        report = await run_case(case)
        cases.append((case, report))
        if not report.died:
            return cases
    raise AssertionError("the step never came to its end")


async def is_done(broker: Broker, case: Case) -> bool:
    """Returns whether the group's offset and both outputs are committed; asserts all or nothing."""
    (stored,) = await broker.offsets.fetch(GROUP, [(case.source, 0)])
    seen = [await visible(broker, sink) for sink in case.sinks]
    done = stored.offset == len(INPUT)
    assert stored.offset in (-1, len(INPUT)), case.n
    assert seen == ([{0: OUTPUT}, {0: OUTPUT}] if done else [{}, {}]), (case.n, seen)
    return done


async def begun_again(broker: Broker, case: Case) -> None:
    await broker.producers.init(f"etl-{case.source}", 30_000)
    if not await is_done(broker, case):
        await kafka_step(broker, case, "", [], INPUT)
    assert await is_done(broker, case), case.n
    topics = (case.source, *case.sinks)
    assert [await outstanding(broker, topic) for topic in topics] == [0, 0, 0], case.n


async def assert_cut_and_mended(
    run_case: ForkedCases,
    url: str,
    prefix: str,
    step: str,
    when: str,
    *,
    in_one_call: bool,
    buffers: Sequence[str] = MARKER,
) -> None:
    async with one(url, prefix, coordinators=1, one_call_transactions=not in_one_call) as broker:
        # Given the step, cut once at every write it makes
        cases = await cut_at_every_write(run_case, broker, url, step, when, in_one_call, buffers)
        # Then each of them has been passed
        writes = cases[-1][1].writes
        counted = Counter(writes)
        expected = ALWAYS | appends(buffers) | (IN_ONE_CALL if in_one_call else IN_SEVERAL_CALLS)
        assert {name: counted[name] for name in expected} == expected
        assert [case.n for case, report in cases if report.died] == list(range(1, len(writes) + 1))
        # When the client begins again
        await asyncio.gather(*(begun_again(broker, case) for case, _ in cases))
        # Then nothing is left behind
        assert await eventually(lambda: live_transactions(broker), 0) == 0
        for case, _ in cases:
            assert await all_buffered(broker, case.sinks) == 0, case.n


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
@pytest.mark.parametrize("step", ["kafka 1", "kafka 2"])
async def test_a_kafka_transaction_cut_at_any_write_is_done_exactly_once_by_the_next_producer(
    run_case, redis_url, prefix, step, when, in_one_call
):
    await assert_cut_and_mended(run_case, redis_url, prefix, step, when, in_one_call=in_one_call)


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_kafka_transaction_in_sidecar_buffers_cut_at_any_write_is_done_exactly_once(
    run_case, redis_url, prefix, when, in_one_call
):
    """SC-05, SC-06"""
    await assert_cut_and_mended(run_case, redis_url, prefix, "kafka 2", when, in_one_call=in_one_call, buffers=MIXED)


async def test_a_kafka_transaction_cut_at_any_write_is_mended_on_a_cluster(run_case, cluster_url, prefix):
    await assert_cut_and_mended(run_case, cluster_url, prefix, "kafka 2", "after", in_one_call=False)
