"""When a consumer of an exclusive subscription extends its session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.broker.subscriptions import consumer_sessions
from redis_ledger.broker.subscriptions.consumer_sessions import ConsumerSessions
from redis_ledger.clock import ManualClock
from redis_ledger.cursor.registration import Claim

FIRST: Any = SimpleNamespace(topic_id="t", keys=None)
SESSION_MS = 30_000


class Claims:
    """What is asked of partition 0; `now_s` is the time of the broker."""

    def __init__(self, epoch: int | None) -> None:
        self.epoch, self.now_s, self.takes = epoch, 0.0, list[bool]()

    async def claim(self, *_: Any, take: bool, **more: Any) -> Claim | None:
        self.takes.append(take)
        return None if self.epoch is None else Claim(self.epoch, "c1")

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture(params=[7])
def claims(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Claims:
    made = Claims(request.param)
    monkeypatch.setattr(consumer_sessions, "registration", made)
    monkeypatch.setattr(consumer_sessions, "time", made)
    return made


@pytest.fixture
def consumers(claims: Claims) -> ConsumerSessions:
    store: Any = None
    return ConsumerSessions(store, ManualClock(), SESSION_MS, store)


@pytest.mark.parametrize("call", ["enter", "extend_session"])
async def test_a_session_is_extended_when_a_third_of_it_is_over(claims: Claims, consumers: ConsumerSessions, call):
    await consumers.enter(FIRST, "s", "c1")
    for now_s, calls in ((0.0, 1), (9.9, 1), (10.1, 2), (20.0, 2), (20.3, 3)):
        claims.now_s = now_s
        await getattr(consumers, call)(FIRST, "s", "c1")
        assert len(claims.takes) == calls
    assert claims.takes[1:] == [call == "enter"] * 2


async def test_each_consumer_has_a_session_of_its_own(claims: Claims, consumers: ConsumerSessions):
    assert await consumers.enter(FIRST, "s", "c1") == await consumers.enter(FIRST, "s", "c2") == 7
    assert claims.takes == [True, True]
    consumers.forget(FIRST, "s", "c1")
    await consumers.enter(FIRST, "s", "c2")
    assert len(claims.takes) == 2
    await consumers.enter(FIRST, "s", "c1")
    assert len(claims.takes) == 3


@pytest.mark.parametrize("claims", [None], indirect=True)
async def test_a_shared_subscription_has_no_session(claims: Claims, consumers: ConsumerSessions):
    for now_s in (0.0, 100.0):
        claims.now_s = now_s
        assert await consumers.enter(FIRST, "s", "c1") is None
        await consumers.extend_session(FIRST, "s", "c1")
    assert claims.takes == [True]
