"""Acknowledgements of what no consumer gets, of every kind: each is refused, or has no effect.

log    0 a  1 x·t1  2 ✗t1  3 d·t2  4 ✓t2  5 b·t3  6 c
                                          ^ stable offset: t3 is open
consumer has 0 and 3
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from redis_ledger.errors import LedgerError
from redis_ledger.ids import MessageId
from tests.support.acks import cursor
from tests.support.broker import begun, one, receive_values, records, visible
from tests.support.doors import Doors, doors_of

UNDECIDED, BEHIND, UNWRITTEN = 5, 6, 7
ABORTED, ABORT_MARKER, COMMIT_MARKER = 1, 2, 4
DELIVERED = 3
ADDRESS = "/v1/topics/t/subscriptions/s"
Forge = Callable[[Doors, int], Awaitable[None]]  # acknowledges the offset; raises what refuses it


async def post(doors: Doors, path: str, body: dict[str, Any]) -> Any:
    answer = await doors.http.post(path, json=body)
    assert answer.status_code < 500, answer.text
    return answer.raise_for_status().json()


def rest(verb: str, *others: int, transactional: bool = False, **more: Any) -> Forge:
    """others: offsets of the same list.  more: fields of the body."""

    async def forge(doors: Doors, offset: int) -> None:
        ids = [f"0:{each}" for each in sorted({*others, offset})]
        body = {"consumer": "c", **({"id": ids[0]} if verb == "ackCumulative" else {"ids": ids}), **more}
        txn = (await post(doors, "/v1/transactions", {}))["id"] if transactional else None
        try:
            await post(doors, f"{ADDRESS}:{verb}", body | ({"transaction": txn} if transactional else {}))
        finally:
            if transactional:  # one that was refused has aborted it
                await doors.http.post(f"/v1/transactions/{txn}:commit")

    return forge


async def rest_execute(doors: Doors, offset: int) -> None:
    acks = [{"topic": "t", "subscription": "s", "consumer": "c", "ids": [f"0:{offset}"]}]
    await post(
        doors, "/v1/transactions:execute", {"acks": acks, "records": [{"topic": "u", "records": [{"text": "r"}]}]}
    )


def sdk(verb: str, *others: int, transactional: bool = False) -> Forge:
    async def forge(doors: Doors, offset: int) -> None:
        kind: Any = "exclusive" if verb == "ack_cumulative" else "shared"
        consumer = doors.sdk.consumer("t", "s", name="c", kind=kind, prefetch=0)
        given: Any = MessageId(0, offset)
        if others:
            given = [MessageId(0, each) for each in sorted({*others, offset})]
        if not transactional:
            await getattr(consumer, verb)(given)
            return
        async with doors.sdk.transaction() as txn:
            await getattr(txn, verb)(consumer, given)

    return forge


ONE_BY_ONE: dict[str, Forge] = {
    "REST": rest("ack"),
    "REST list": rest("ack", DELIVERED),
    "REST transaction": rest("ack", transactional=True),
    "REST transaction list": rest("ack", DELIVERED, transactional=True),
    "REST execute": rest_execute,
    "REST dead letter": rest("deadLetter"),
    "REST reconsume later": rest("reconsumeLater", delay_ms=0),
    "SDK": sdk("ack"),
    "SDK list": sdk("ack", DELIVERED),
    "SDK transaction": sdk("ack", transactional=True),
    "SDK transaction list": sdk("ack", DELIVERED, transactional=True),
}
CUMULATIVE: dict[str, Forge] = {
    "REST": rest("ackCumulative"),
    "REST transaction": rest("ackCumulative", transactional=True),
    "SDK": sdk("ack_cumulative"),
    "SDK transaction": sdk("ack_cumulative", transactional=True),
}


EACH = pytest.mark.parametrize(("kind", "forge"), [
    *[pytest.param("shared", forge, id=f"one by one, {name}") for name, forge in ONE_BY_ONE.items()],
    *[pytest.param("exclusive", forge, id=f"cumulative, {name}") for name, forge in CUMULATIVE.items()],
])  # fmt: skip


@pytest.fixture
async def broker(redis_url, prefix):
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker:
        for topic in ("t", "u", "retry"):
            await broker.topics.create(topic)
        await broker.records.produce("t", records("a"))
        await broker.transactions.abort(await begun(broker, "x"))
        await broker.transactions.commit(await begun(broker, "d"))
        yield broker


async def create(broker: Any, kind: Any) -> None:
    await broker.subscriptions.create("t", "s", kind, start="earliest")
    await broker.dead_letters.set("t", "s", 100, "u", retry_topic="retry", max_attempts=1)


async def opened(broker: Any, kind: Any) -> Any:
    """A subscription whose consumer has everything that it may get, and the open transaction."""
    await create(broker, kind)
    txn = await begun(broker, "b")
    await broker.records.produce("t", records("c"))
    assert list((await receive_values(broker, "t", "s", "c")).values()) == ["a", "d"]
    return txn


async def refused(forge: Forge, doors: Doors, offset: int) -> bool:
    try:
        await forge(doors, offset)
    except (LedgerError, httpx.HTTPStatusError):
        return True
    return False


async def acknowledged(broker: Any) -> Any:
    """What the cursor has as acknowledged, and what was written with an acknowledgement.  Leases do not count: the SDK
    gives back what a transaction that failed had acknowledged."""
    found = await cursor(broker)
    written = [await visible(broker, topic) for topic in ("u", "retry")]
    return found.mark_delete, found.read, found.acked_ahead, found.pending, found.backlog, written


async def left(broker: Any, *, commit: bool, txn: Any) -> list[str]:
    """What the subscription still delivers once the transaction has ended."""
    await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
    await broker.subscriptions.nack("t", "s", "c", None)
    return list((await receive_values(broker, "t", "s", "c")).values())


@EACH
async def test_each_of_them_acknowledges_what_was_delivered(broker, kind, forge):
    """TB-39: so the refusals below have no other reason."""
    txn = await opened(broker, kind)
    async with doors_of(broker) as doors:
        assert not await refused(forge, doors, DELIVERED)
    remaining = ["b", "c"] if kind == "exclusive" else ["a", "b", "c"]
    assert await left(broker, commit=True, txn=txn) == remaining


ENDS = pytest.mark.parametrize(("commit", "then"), [(True, ["b", "c"]), (False, ["c"])], ids=["commit", "abort"])


@EACH
@ENDS
async def test_no_acknowledgement_passes_the_stable_offset(broker, kind, forge, commit, then):
    """TB-39: of an undecided record, of a plain one behind it, and of one that was never written."""
    txn = await opened(broker, kind)
    before = await acknowledged(broker)
    async with doors_of(broker) as doors:
        for offset in (UNDECIDED, BEHIND, UNWRITTEN):
            assert await refused(forge, doors, offset)
            assert await acknowledged(broker) == before
    assert await left(broker, commit=commit, txn=txn) == ["a", "d", *then]


@pytest.mark.parametrize("name", ONE_BY_ONE)
@pytest.mark.parametrize("offset", [ABORTED, ABORT_MARKER, COMMIT_MARKER])
async def test_acknowledging_a_marker_or_an_aborted_record_has_no_effect(broker, name, offset):
    """TB-39: a list with one of them is refused, or acknowledges the others, which the consumer has."""
    txn = await opened(broker, "shared")
    before = await acknowledged(broker)
    async with doors_of(broker) as doors:
        is_refused = await refused(ONE_BY_ONE[name], doors, offset)
    taken = ["d"] if "list" in name and not is_refused else []
    if not taken:
        assert await acknowledged(broker) == before
    assert await left(broker, commit=True, txn=txn) == [value for value in ("a", "d", "b", "c") if value not in taken]


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize(("offset", "then"), [
    (ABORTED, ["d", "b", "c"]), (ABORT_MARKER, ["d", "b", "c"]), (COMMIT_MARKER, ["b", "c"]),
])  # fmt: skip
async def test_a_cumulative_acknowledgement_of_a_marker_or_an_aborted_record_covers_what_was_delivered_before_it(
    broker, name, offset, then
):
    """TB-39: and nothing that was not."""
    txn = await opened(broker, "exclusive")
    async with doors_of(broker) as doors:
        assert not await refused(CUMULATIVE[name], doors, offset)
    assert await left(broker, commit=True, txn=txn) == then


@EACH
async def test_nothing_is_acknowledged_before_its_delivery(broker, kind, forge):
    """TB-39: an aborted record, a marker and a committed record that the subscription has not reached yet."""
    await create(broker, kind)
    before = await acknowledged(broker)
    async with doors_of(broker) as doors:
        for offset in (ABORTED, ABORT_MARKER, DELIVERED, COMMIT_MARKER):
            assert await refused(forge, doors, offset)
            assert await acknowledged(broker) == before
    assert list((await receive_values(broker, "t", "s", "c")).values()) == ["a", "d"]
