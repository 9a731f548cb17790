"""redis_ledger/cursor/scripts: calls through the store, and the errors of refusals."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.cursor import registration, scripts
from redis_ledger.cursor.ranges import Range
from redis_ledger.cursor.registration import Registration
from redis_ledger.cursor.scripts import NotOwner, ReceiveRequest
from redis_ledger.errors import (
    ConsumerBusy,
    NotDelivered,
    NotYourMessage,
    OffsetOutOfRange,
    OutcomeUnknown,
    SubscriptionExists,
    TransactionConflict,
    TransactionEnded,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.ids import TxnId
from redis_ledger.store.store import Store
from tests.support.cursor_scripts import NOW, connected
from tests.support.fake_log import TOPIC_ID, FakeLog

T1, T2 = TxnId(0, 1), TxnId(32_767, 281_474_976_710_655)


@pytest.fixture(params=["redis_url", "cluster_url"])
def url(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def log(url, prefix):
    with connected(url) as client:
        log = FakeLog(client, prefix)
        log.append(10)
        yield log


@pytest.fixture
async def store(url):
    store = await Store.open(url)
    yield store
    await store.close()


class Bound:
    """calls.*, with the store, keys and topic of one test filled in."""

    def __init__(self, store: Any, log: FakeLog) -> None:
        self.first = (store, log.keys, TOPIC_ID)

    def __getattr__(self, name: str) -> Any:
        module = registration if hasattr(registration, name) else scripts
        return lambda *args, **more: getattr(module, name)(*self.first, *args, **more)

    async def create(self, name: str, kind: Any, start: Any, now_ms: int, incarnation: str = "one") -> bool:
        return bool(await self.register(name, Registration(kind, incarnation, start, 1), now_ms))

    async def received(self, name: str, consumer: str, records_max: int) -> Any:
        request = ReceiveRequest(consumer, 1 << 20, 30_000, 10_000)
        return await self.receive(name, request, now_ms=NOW, records_max=records_max)


@pytest.fixture
def on(store, log):
    return Bound(store, log)


async def test_a_subscription_lives_from_creation_to_deletion(on):
    assert await on.create("s/1", "shared", "earliest", NOW)
    assert not await on.create("s/1", "shared", "latest", NOW + 1, "two")
    got = await on.received("s/1", "a consumer", records_max=6)
    assert [(d.first, d.last, d.deliveries, d.base, d.records, d.producer) for d in got.deliveries] == [
        (0, 5, 0, 0, 10, b"-1")
    ]
    assert (got.mark, got.read, got.stable, got.more, got.next_due_ms) == (0, 6, 10, True, NOW + 30_000)
    assert await on.ack("s/1", "a consumer", [Range(0, 0), Range(2, 3)]) == 3
    assert await on.pending_ack("s/1", "a consumer", T1, [Range(4, 4)], now_ms=NOW) == 1
    assert await on.nack("s/1", "a consumer", [Range(5, 5)], now_ms=NOW, delay_ms=7) == 1
    assert await on.nack("s/1", "a consumer", [], now_ms=NOW) == 0
    state = await on.stats("s/1")
    assert state == scripts.CursorState(
        "shared", 1, 6, 10, 2, 1, 1, 7, True, 6, 0, "", 0, NOW, NOW + 7, 1
    )  # fmt: skip
    assert await on.nack("s/1", "a consumer", None, now_ms=NOW) == 1
    assert await on.seek("s/1", "latest") == 10
    assert await on.delete("s/1") == "one"
    assert await on.delete("s/1") is None


async def test_exclusive_subscription_shows_its_owner(on):
    await on.create("s", "exclusive", 2, NOW)
    session = {"now_ms": NOW, "session_ms": 10_000}
    with pytest.raises(NotOwner):
        await on.received("s", "größer {1}", records_max=6)
    epoch = await on.claim("s", "größer {1}", **session)
    request = ReceiveRequest("größer {1}", 1 << 20, 30_000, 10_000, epoch.epoch)
    await on.receive("s", request, now_ms=NOW, records_max=6)
    assert await on.ack_cumulative("s", "größer {1}", 3) == 2
    assert await on.pending_ack_cumulative("s", "größer {1}", T2, 5, now_ms=NOW) == 2
    assert await on.pending_ack_cumulative("s", "größer {1}", T2, 5, now_ms=NOW) == 2
    with pytest.raises(TransactionConflict):
        await on.pending_ack_cumulative("s", "größer {1}", T2, 4, now_ms=NOW)
    state = await on.stats("s")
    assert (state.kind, state.consumer, state.consumer_until_ms) == ("exclusive", "größer {1}", NOW + 10_000)
    with pytest.raises(ConsumerBusy, match="größer") as busy:
        await on.claim("s", "another", **session)
    assert busy.value.facts == {"consumer": "größer {1}", "retry_after_ms": 10_000}


async def test_each_refusal_has_its_error_and_its_facts(on, log):
    await on.create("s", "shared", "earliest", NOW)
    await on.received("s", "c1", records_max=4)
    await on.pending_ack("s", "c1", T1, [Range(1, 1)], now_ms=NOW)
    await on.ack("s", "c1", [Range(0, 0)])
    log.client.zadd(log.keys.ended, {"0-9": 1})

    async def refused(error: type[Exception], call: Any) -> dict[str, Any]:
        with pytest.raises(error) as caught:
            await call
        facts: dict[str, Any] = caught.value.facts  # type: ignore[attr-defined]
        return facts

    one = [Range(1, 1)]
    assert await refused(NotYourMessage, on.ack("s", "c2", [Range(2, 2)])) == {
        "offset": 2,
        "consumer": "c1",
    }
    assert await refused(NotDelivered, on.ack("s", "c1", [Range(3, 4)])) == {"offset": 4}
    conflict = await refused(TransactionConflict, on.pending_ack("s", "c1", T2, one, now_ms=NOW))
    assert conflict == {"offset": 1, "transaction": "0-1"}
    conflict = await refused(TransactionConflict, on.pending_ack("s", "c1", T2, [Range(0, 0)], now_ms=NOW))
    assert conflict == {"offset": 0, "transaction": ""}
    assert await refused(TransactionEnded, on.pending_ack("s", "c1", TxnId(0, 9), one, now_ms=NOW)) == {}
    assert await refused(WrongSubscriptionKind, on.ack_cumulative("s", "c1", 1)) == {}
    assert await refused(SubscriptionExists, on.create("s", "exclusive", "latest", NOW)) == {}
    bounds = {"start_offset": 0, "end_offset": 10}
    assert await refused(OffsetOutOfRange, on.seek("s", 11)) == bounds
    assert await refused(OffsetOutOfRange, on.create("far", "shared", 11, NOW)) == bounds
    assert await refused(UnknownSubscription, on.stats("far")) == {"subscription": "far"}
    log.client.hset(log.keys.state, "topic_id", "made again")
    assert await refused(UnknownTopic, on.stats("s")) == {}


class LosesFirstReply:
    """A store whose first call is carried out and then fails as if its reply had been lost."""

    def __init__(self, store: Store) -> None:
        self._store, self._lost = store, False

    async def call(self, *args: Any, retry: bool = True) -> Any:
        reply = await self._store.call(*args, retry=retry)
        if not retry and not self._lost:
            self._lost = True
            raise OutcomeUnknown
        return reply


async def test_a_receive_that_lost_its_reply_gets_the_same_records(store, log, on):
    await on.create("s", "shared", "earliest", NOW)
    got = await Bound(LosesFirstReply(store), log).received("s", "c1", records_max=4)
    assert [(d.first, d.last, d.deliveries) for d in got.deliveries] == [(0, 3, 0)]


async def test_many_consumers_at_once_share_the_records_without_overlap(on):
    await on.create("s", "shared", "earliest", NOW)
    gots = await asyncio.gather(*(on.received("s", f"c{i}", records_max=3) for i in range(5)))
    seen = [offset for got in gots for d in got.deliveries for offset in range(d.first, d.last + 1)]
    assert sorted(seen) == list(range(10))
