"""Idempotency-Key on a real Redis, with brokers that die in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx
import pytest
from hiredis import ReplyError

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.idempotency import ANSWER_BYTES_MAX, Idempotency
from redis_ledger.errors import IdempotencyKeyReused, RequestInProgress, StoreUnavailable
from redis_ledger.store.keys import encode_name
from redis_ledger.store.store import Script, Store
from tests.support.broker import eventually
from tests.support.rest import client_of, open_broker

KEY = {"idempotency-key": "step 42"}
ONE, OTHER = b"1" * 32, b"2" * 32


@pytest.fixture
async def broker(redis_url: str, prefix: str) -> AsyncIterator[Broker]:
    async with open_broker(redis_url, prefix, coordinators=2, redis_timeout_ms=1_000) as broker:
        yield broker


@pytest.fixture
async def api(broker: Broker) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(broker) as client:
        yield client


@pytest.fixture
async def keys(redis_url: str, prefix: str) -> AsyncIterator[Idempotency]:
    store = await Store.open(redis_url, prefix=prefix)
    yield Idempotency(store, lease_ms=1_000, keep_ms=60_000)
    await store.close()


async def records_of(api: httpx.AsyncClient, topic: str, partition: int = 0) -> list[Any]:
    answer = await api.get(f"/v1/topics/{topic}/partitions/{partition}/records")
    return [record["value"] for record in answer.json()["records"]]


def fail_once(broker: Broker, part: str, call: str, after: bool) -> None:
    """The next call fails as if Redis had gone away, before or after it was carried out."""
    owner = getattr(broker, part)
    real = getattr(owner, call)

    async def failing(*args: Any, **kwargs: Any) -> Any:
        setattr(owner, call, real)
        if after:
            await real(*args, **kwargs)
        raise StoreUnavailable()

    setattr(owner, call, failing)


async def test_the_first_answer_is_replayed_by_another_broker_too(api, redis_url, prefix):
    body = {"records": [{"key": "a", "value": 1}, {"value": 2}]}
    first = await api.post("/v1/topics/t/records", json=body, headers=KEY)
    async with open_broker(redis_url, prefix, coordinators=2) as another, client_of(another) as client:
        second = await client.post("/v1/topics/t/records", json=body, headers=KEY)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.text == second.text
    assert second.headers["idempotent-replayed"] == "true"
    assert await records_of(api, "t") == [1, 2]


@pytest.mark.parametrize("after", [False, True])
async def test_a_produce_whose_answer_was_lost_is_written_once(api, broker, after):
    await api.post("/v1/topics", json={"name": "t", "partitions": 3})
    body = {"records": [{"key": str(n), "value": n} for n in range(20)] + [{"value": "keyless"}]}
    fail_once(broker, "records", "produce", after)
    lost = await api.post("/v1/topics/t/records", json=body, headers=KEY)
    again = await api.post("/v1/topics/t/records", json=body, headers=KEY)
    assert (lost.status_code, again.status_code) == (503, 200)
    assert {result["duplicate"] for result in again.json()["results"]} == {after}
    written = [value for partition in range(3) for value in await records_of(api, "t", partition)]
    assert sorted(written, key=str) == sorted([*range(20), "keyless"], key=str)


@pytest.mark.parametrize("after", [False, True])
async def test_a_begin_whose_answer_was_lost_begins_once(api, broker, after):
    fail_once(broker, "transactions", "begin", after)
    lost = await api.post("/v1/transactions", headers=KEY)
    again = await api.post("/v1/transactions", headers=KEY)
    assert (lost.status_code, again.status_code) == (503, 201)
    found = (await api.get("/v1/transactions?status=open")).json()["transactions"]
    assert [t["id"] for t in found] == [again.json()["id"]]


@pytest.mark.parametrize("after", [False, True])
async def test_an_execute_whose_answer_was_lost_is_carried_out_once(api, broker, after):
    body = {"records": [{"topic": "out", "records": [{"value": "once"}]}]}
    fail_once(broker, "execute", "run", after)
    lost = await api.post("/v1/transactions:execute", json=body, headers=KEY)
    again = await api.post("/v1/transactions:execute", json=body, headers=KEY)
    assert (lost.status_code, again.status_code, again.json()["status"]) == (503, 200, "committed")
    assert await records_of(api, "out") == ["once"]


async def test_a_refused_repetition_does_not_release_the_key(api, broker, redis_url, prefix):
    body = {"records": [{"key": "order", "value": "once"}]}
    fail_once(broker, "records", "produce", True)
    assert (await api.post("/v1/topics/t/records", json=body, headers=KEY)).status_code == 503
    async with open_broker(redis_url, prefix, coordinators=2, key_bytes_max=1) as strict, client_of(strict) as client:
        assert (await client.post("/v1/topics/t/records", json=body, headers=KEY)).status_code == 413
    assert (await api.post("/v1/topics/t/records", json=body, headers=KEY)).json()["results"][0]["duplicate"]
    (topic,) = (await api.get("/v1/topics")).json()["topics"]
    written = [value for partition in range(topic["partitions"]) for value in await records_of(api, "t", partition)]
    assert written == ["once"]


@pytest.mark.parametrize("lost_at", ["run", "finish"])
async def test_a_repeated_step_is_found_although_it_would_be_refused_now(redis_url, prefix, lost_at):
    async with open_broker(redis_url, prefix, one_call_transactions=False) as broker, client_of(broker) as api:
        for name in ("a", "b"):
            await api.post("/v1/topics", json={"name": name, "partitions": 1})
        body = {"records": [{"topic": name, "records": [{"text": "x" * 3000}]} for name in ("a", "b")]}
        fail_once(broker, "execute" if lost_at == "run" else "transactions", lost_at, lost_at == "run")
        assert (await api.post("/v1/transactions:execute", json=body, headers=KEY)).status_code in (503, 504)
        await api.patch("/v1/topics/a", json={"settings": {"batch_bytes_max": 2000}})
        again = await api.post("/v1/transactions:execute", json=body, headers=KEY)
        assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
        assert len((await api.get("/v1/topics/b/partitions/0/records")).json()["records"]) == 1


async def test_a_repeated_step_that_was_begun_only_is_carried_out(api, broker):
    body = {"records": [{"topic": name, "records": [{"value": "once"}]} for name in ("a", "b")]}
    fail_once(broker, "records", "append_prepared", False)
    fail_once(broker, "transactions", "abort", False)
    assert (await api.post("/v1/transactions:execute", json=body, headers=KEY)).status_code == 503
    again = await api.post("/v1/transactions:execute", json=body, headers=KEY)
    assert (again.status_code, len(again.json()["results"])) == (200, 2)
    assert await records_of(api, "a") == await records_of(api, "b") == ["once"]


@pytest.mark.parametrize("after", [False, True])
async def test_a_repeated_produce_goes_where_the_first_attempt_wrote(api, broker, after):
    await api.post("/v1/topics", json={"name": "t", "partitions": 2, "settings": {"batch_bytes_max": 100_000}})
    given = [{"key": str(n), "text": f"{n}-" + "x" * 900} for n in range(12)] + [{"text": "keyless"}]
    fail_once(broker, "records", "append_prepared", after)
    lost = await api.post("/v1/topics/t/records", json={"records": given}, headers=KEY)
    await api.patch("/v1/topics/t", json={"partitions": 5})
    await api.patch("/v1/topics/t", json={"settings": {"batch_bytes_max": 2000}})
    again = await api.post("/v1/topics/t/records", json={"records": given}, headers=KEY)
    assert (lost.status_code, again.status_code) == (503, 200)
    found = [
        [r["text"] for r in (await api.get(f"/v1/topics/t/partitions/{n}/records")).json()["records"]] for n in range(5)
    ]
    assert sorted(text for part in found for text in part) == sorted(record["text"] for record in given)
    assert found[2:] == [[], [], []]


@pytest.mark.parametrize(("batches", "status"), [(5, 200), (6, 413)])
async def test_a_keyed_produce_has_as_many_batches_as_a_repetition_recognizes(api, broker, batches, status):
    await api.post("/v1/topics", json={"name": "t", "partitions": 1, "settings": {"batch_bytes_max": 2000}})
    body = {"records": [{"text": f"{n}-" + "x" * 1500} for n in range(batches)]}
    fail_once(broker, "records", "append_prepared", True)
    await api.post("/v1/topics/t/records", json=body, headers=KEY)
    again = await api.post("/v1/topics/t/records", json=body, headers=KEY)
    assert again.status_code == status
    assert len((await api.get("/v1/topics/t/partitions/0/records")).json()["records"]) == (5 if status == 200 else 0)


async def test_a_layout_is_kept_no_longer_than_it_is_needed(api, broker, prefix):
    await api.post("/v1/topics/t/records", json={"records": [{"value": 1}]}, headers=KEY)
    await broker.idempotency.close()
    assert await broker.store.command("KEYS", f"{prefix}:*|layout:*") == []
    fail_once(broker, "records", "append_prepared", True)
    await api.post("/v1/topics/t/records", json={"records": [{"value": 1}]}, headers={"idempotency-key": "lost"})
    (name,) = await broker.store.command("KEYS", f"{prefix}:*|layout:*")
    assert 0 < await broker.store.command("PTTL", name, key=name) <= 86_400_000


async def kept_steps(broker: Broker) -> int:
    counts = [int(await broker.store.command("ZCARD", c.keys.steps, key=c.keys.state)) for c in broker.coordinators]
    return sum(counts) - len(counts)  # each has a sentinel


async def outcomes_are_forgotten(broker: Broker) -> None:
    for coordinator in broker.coordinators:
        for txn in [await broker.coordinators.begin(60_000, at=coordinator) for _ in range(5)]:
            await broker.transactions.commit(txn[0])
            await broker.coordinators.done(txn[0], lazy=False)


@pytest.mark.parametrize("coordinators", [2, 7])
async def test_an_execute_is_carried_out_once_also_when_its_outcome_is_forgotten(redis_url, prefix, coordinators):
    """CL-13: the broker died before it stored the answer.  Another one, perhaps with more coordinators, repeats it."""
    body = {"records": [{"topic": "out", "records": [{"value": "once"}]}]}
    forgets: dict[str, Any] = {
        "ended_status_max_records": 2, "ended_status_retention_ms": 0, "redis_timeout_ms": 1_000,
    }  # fmt: skip
    async with open_broker(redis_url, prefix, coordinators=2, **forgets) as first, client_of(first) as api:
        for key in map(str, range(8)):
            fail_once(first, "execute", "run", True)
            lost = await api.post("/v1/transactions:execute", json=body, headers={"idempotency-key": key})
            assert lost.status_code == 503
        await outcomes_are_forgotten(first)
    async with open_broker(redis_url, prefix, coordinators=coordinators, **forgets) as second, client_of(second) as api:
        for key in map(str, range(8)):
            again = await api.post("/v1/transactions:execute", json=body, headers={"idempotency-key": key})
            assert (again.status_code, again.json()["status"]) == (200, "committed")
            assert again.headers["idempotent-replayed"] == "true"
        assert await records_of(api, "out") == ["once"] * 8
        assert await eventually(lambda: kept_steps(second), 0) == 0


async def test_a_step_whose_answer_is_stored_is_not_remembered_besides(api, broker):
    body = {"records": [{"topic": "out", "records": [{"value": "once"}]}]}
    assert (await api.post("/v1/transactions:execute", json=body, headers=KEY)).status_code == 200
    assert await eventually(lambda: kept_steps(broker), 0) == 0
    assert (await api.post("/v1/transactions:execute", json=body, headers=KEY)).headers["idempotent-replayed"] == "true"
    assert await records_of(api, "out") == ["once"]


async def test_requests_with_one_key_at_the_same_time_are_carried_out_once(api):
    body = {"records": [{"value": "once"}]}
    answers = await asyncio.gather(*(api.post("/v1/topics/t/records", json=body, headers=KEY) for _ in range(20)))
    codes = [answer.status_code for answer in answers]
    assert set(codes) <= {200, 409}
    assert 200 in codes
    assert {a.json()["code"] for a in answers if a.status_code == 409} <= {"request_in_progress"}
    assert await records_of(api, "t") == ["once"]


async def test_a_refused_request_may_be_corrected_under_its_key(api):
    wrong = await api.post("/v1/topics", json={"name": "a b"}, headers=KEY)
    right = await api.post("/v1/topics", json={"name": "a_b"}, headers=KEY)
    other = await api.post("/v1/topics", json={"name": "c"}, headers=KEY)
    assert (wrong.status_code, right.status_code, other.status_code) == (400, 201, 422)


# -- the claim itself --------------------------------------------------------------------------------------------------


async def test_a_claim_is_held_until_its_lease_runs_out_and_then_resumed(keys):
    first = await keys.claim("k", ONE, producer_id=7)
    with pytest.raises(RequestInProgress):
        await keys.claim("k", ONE, producer_id=8)
    first.abandon()
    await asyncio.sleep(1.1)  # the lease of a second, as if the broker that held it had been killed
    second = await keys.claim("k", ONE, producer_id=9)
    assert (first.resumed, second.resumed) == (False, True)
    assert (second.producer_id, second.nonce) == (7, first.nonce)
    assert (first.is_ours, second.is_ours) == (False, True)


async def test_attempt_that_was_overtaken_does_not_change_the_answer(keys):
    first = await keys.claim("k", ONE)
    first.abandon()
    await asyncio.sleep(1.1)  # as above
    second, done = await keys.claim("k", ONE), list[str]()
    for name, claim in (("first", first), ("second", second)):
        claim.when_kept(partial(done.append, name))
    await first.finish(200, b"first")
    await second.finish(200, b"second")
    await first.finish(200, b"first")
    assert (await keys.claim("k", ONE)).replay == (200, b"second")
    assert done == [], "the step is kept while calls of the first attempt may be on their way"


@pytest.mark.parametrize(("size", "is_kept"), [(ANSWER_BYTES_MAX, True), (ANSWER_BYTES_MAX + 1, False)])
async def test_callbacks_run_only_if_the_response_is_stored(keys, size, is_kept):
    claim = await keys.claim("k", ONE)
    done: list[bool] = []
    claim.when_kept(lambda: done.append(True))
    await claim.finish(200, b"x" * size)
    assert done == [True] * is_kept


async def test_a_finished_claim_is_replayed_and_never_mistaken_for_another_request(keys):
    claim = await keys.claim("k", ONE)
    await claim.finish(201, b'{"a":1}')
    assert (await keys.claim("k", ONE)).replay == (201, b'{"a":1}')
    with pytest.raises(IdempotencyKeyReused):
        await keys.claim("k", OTHER)
    assert (await keys.claim("k", ONE)).replay == (201, b'{"a":1}')


async def test_an_answer_is_on_its_way_at_once_and_stored_before_the_broker_has_closed(keys):
    claim, done = await keys.claim("k", ONE), list[bool]()
    claim.when_kept(lambda: done.append(True))
    claim.finish(201, b'{"a":1}')
    assert done == []
    await keys.close()
    assert done == [True]
    assert (await keys.claim("k", ONE)).replay == (201, b'{"a":1}')


async def test_a_repeat_right_behind_the_response_gets_the_answer(keys):
    for number in range(20):
        claim = await keys.claim(f"k{number}", ONE)
        claim.finish(201, b'{"a":1}')  # the next claim is behind it on the connection
        assert (await keys.claim(f"k{number}", ONE)).replay == (201, b'{"a":1}')


@pytest.mark.parametrize("error", [StoreUnavailable("Redis is away."), ReplyError("NOPERM not allowed")])
async def test_an_answer_that_cannot_be_stored_is_logged_and_its_request_is_resumed(keys, monkeypatch, capsys, error):
    claim, done = await keys.claim("k", ONE, producer_id=7), list[bool]()
    claim.when_kept(lambda: done.append(True))

    call = Store.call

    def refused(store: Store, script: Script, *arguments: Any) -> asyncio.Future[Any]:
        if script.name != "broker/store_answer":
            return call(store, script, *arguments)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.set_exception(error)
        return future

    monkeypatch.setattr(Store, "call", refused)
    claim.finish(201, b'{"a":1}')
    await keys.close()
    monkeypatch.undo()
    assert done == []
    assert "answer for an Idempotency-Key not stored" in capsys.readouterr().err
    assert (await keys.claim("k", ONE, producer_id=8)).producer_id == 7


async def test_a_released_key_is_as_good_as_new(keys):
    first = await keys.claim("k", ONE, producer_id=7)
    await first.release()
    second = await keys.claim("k", OTHER, producer_id=8)
    assert (second.resumed, second.producer_id) == (False, 8)
    assert second.nonce != first.nonce


async def test_a_suspended_key_is_resumed_by_the_same_request_only(keys):
    await (await keys.claim("k", ONE, producer_id=7)).suspend()
    with pytest.raises(IdempotencyKeyReused):
        await keys.claim("k", OTHER)
    resumed = await keys.claim("k", ONE, producer_id=8)
    assert (resumed.resumed, resumed.producer_id) == (True, 7)


async def test_expired_lease_does_not_release_the_next_one(keys):
    late = await keys.claim("k", ONE)
    late.abandon()
    await asyncio.sleep(1.1)  # the lease of a second
    await keys.claim("k", ONE)
    await late.release()
    await late.suspend()
    with pytest.raises(RequestInProgress):
        await keys.claim("k", ONE)


async def test_a_request_that_lasts_keeps_its_lease(keys):
    claim = await keys.claim("k", ONE)
    await asyncio.sleep(2.5)  # two leases
    with pytest.raises(RequestInProgress):
        await keys.claim("k", ONE)
    await claim.finish(200, b"{}")
    assert (await keys.claim("k", ONE)).replay == (200, b"{}")


async def test_an_answer_too_large_to_keep_leaves_the_key_to_be_resumed(keys):
    claim = await keys.claim("k", ONE)
    await claim.finish(200, b"x" * (1 << 20) + b"x")
    assert (await keys.claim("k", ONE)).resumed


async def test_no_part_of_a_key_is_readable_in_redis(keys, redis_url, prefix):
    await keys.claim("card 4111", ONE)
    store = await Store.open(redis_url, prefix=prefix)
    names = await store.command("KEYS", f"{prefix}:*")
    await store.close()
    assert len(names) == 2
    assert all(b"4111" not in name and encode_name("card 4111").encode() not in name for name in names)
