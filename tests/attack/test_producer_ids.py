"""Producer ids of others: what ada writes is stored, whatever eve, who may write the same topic, has written before.

A producer id shows in every batch that is read.  If ids had no owner, a batch of eve's under ada's id with the next
sequence would make ada's next batch a duplicate, which is answered with 200 and stored nowhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import InvalidProducerId
from redis_ledger.ids import KEYED, TxnId
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tests.support.broker import one, values_of
from tests.support.kafka_batches import batch, produce, produced
from tests.support.secured_kafka import Secured
from tests.support.secured_kafka import secured as kafka_secured
from tests.support.secured_rest import World, secured

INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, INVALID_TXN_STATE = 49, 90, 48
RAW = "application/vnd.redis-ledger.batch"


@pytest.fixture
async def rest(redis_url: str, prefix: str) -> AsyncIterator[World]:
    async with secured(redis_url, prefix) as world:
        await world.broker.topics.create("shared", 1)
        for name in ("ada", "eve"):
            await world.allow(name, Op.WRITE, Resource.TOPIC, "shared")
        yield world


@pytest.fixture
async def kafka(redis_url: str, prefix: str) -> AsyncIterator[Secured]:
    async with kafka_secured(redis_url, prefix, coordinators=2) as world:
        await world.broker.topics.create("shared", 1)
        for name in ("ada", "eve"):
            await world.allow(name, Op.WRITE, Resource.TOPIC, "shared")
        await world.allow("ada", Op.WRITE, Resource.TRANSACTIONAL_ID, "pay")
        yield world


def body(text: str, pid: int, sequence: int = 0, epoch: int = 0) -> dict[str, object]:
    return {"producer_id": pid, "epoch": epoch, "sequence": sequence, "partition": 0, "records": [{"text": text}]}


async def test_keyed_produces_are_stored_although_somebody_wrote_ahead_of_the_counters(rest: World):
    # Given eve, who has seen the counters of all coordinators, and writes under the ids that come next
    seen = [(await rest.post("eve", "/v1/producers")).json()["producer_id"] for _ in range(4)]
    ahead = {pid + more | bit for pid in seen for more in range(1, 4) for bit in (0, KEYED)}
    answers = [await rest.post("eve", "/v1/topics/shared/records", body("EVE", pid)) for pid in sorted(ahead)]
    # When ada produces with a key
    for n in range(5):
        answer = await rest.post(
            "ada", "/v1/topics/shared/records", {"records": [{"text": f"ada {n}"}]}, idempotency_key=f"pay-{n}"
        )
        assert (answer.status_code, answer.json()["results"][0]["duplicate"]) == (200, False)
    # Then all of it is there
    stored = await values_of(rest.broker, "shared")
    assert [value for value in stored if value != "EVE"] == [f"ada {n}" for n in range(5)]
    assert {a.json().get("code") for a in answers if a.status_code != 200} == {"invalid_producer_id"}


async def test_an_id_that_was_never_handed_out_is_refused(rest: World):
    handed = (await rest.post("eve", "/v1/producers")).json()["producer_id"]
    soon = handed + (1 << 40)
    for pid in (soon, TxnId(31_000, 7).producer_id, handed | KEYED, 2**63 - 1):
        answer = await rest.post("eve", "/v1/topics/shared/records", body("x", pid))
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_producer_id"), pid
    assert (await rest.post("eve", "/v1/topics/shared/records", body("own", handed))).status_code == 200


async def test_batches_sent_as_they_are_name_no_such_id_either(rest: World):
    handed = (await rest.post("eve", "/v1/producers")).json()["producer_id"]
    headers = {**await rest.headers("eve"), "content-type": RAW}
    path = "/v1/topics/shared/records?partition=0"
    for pid in (handed + (1 << 40), handed | KEYED):
        answer = await rest.http.post(path, content=batch("x", producer=(pid, 0, 0)), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_producer_id"), pid
    answer = await rest.http.post(path, content=batch("own", producer=(handed, 0, 0)), headers=headers)
    assert answer.status_code == 200


async def test_nobody_writes_under_the_producer_id_of_another(rest: World):
    pid = (await rest.post("ada", "/v1/producers")).json()["producer_id"]
    path = "/v1/topics/shared/records"
    assert (await rest.post("ada", path, body("a", pid, 0))).status_code == 200
    # When eve sends the next sequence, or a higher epoch, or asks where the first one is
    for sequence, epoch in ((1, 0), (0, 5), (0, 0)):
        answer = await rest.post("eve", path, body("EVE", pid, sequence, epoch))
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_producer_id")
    # Then ada goes on
    answer = await rest.post("ada", path, body("b", pid, 1))
    assert (answer.status_code, answer.json()["results"][0]["duplicate"]) == (200, False)
    assert await values_of(rest.broker, "shared") == ["a", "b"]


async def test_by_kafka_neither(kafka: Secured):
    ada, eve = await kafka.client("ada"), await kafka.client("eve")
    pid = (await ada.ask(InitProducerIdRequest(None, 0), 4)).producer_id
    assert produced(await ada.ask(produce("shared", batch("a", producer=(pid, 0, 0))), 9)).error_code == 0
    for named in ((pid, 0, 1), (pid, 3, 0), (pid | KEYED, 0, 0), (pid + (1 << 40), 0, 0)):
        answer = produced(await eve.ask(produce("shared", batch("EVE", producer=named)), 9))
        assert answer.error_code == INVALID_PRODUCER_ID_MAPPING, named
    assert produced(await ada.ask(produce("shared", batch("b", producer=(pid, 0, 1))), 9)).error_code == 0
    assert await values_of(kafka.broker, "shared") == ["a", "b"]


async def test_a_transactional_id_goes_on_although_somebody_wrote_under_its_producer_id_first(kafka: Secured):
    ada, eve = await kafka.client("ada"), await kafka.client("eve")
    pid = (await ada.ask(InitProducerIdRequest("pay", 60_000), 4)).producer_id
    # Given eve, who writes under that id before ada does, without a transaction, under a high epoch
    assert produced(await eve.ask(produce("shared", batch("EVE", producer=(pid, 9, 0))), 9)).error_code == 0
    # When ada writes in her transaction
    topics = [AddPartitionsToTxnTopic("shared", [0])]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="pay", v3_and_below_producer_id=pid, v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )  # fmt: skip
    assert (await ada.ask(request, 3)).results_by_topic_v3_and_below[0].results_by_partition[
        0
    ].partition_error_code == 0
    data = batch("ada", producer=(pid, 0, 0), transactional=True)
    assert produced(await ada.ask(produce("shared", data, transactional_id="pay"), 9)).error_code == 0
    assert (await ada.ask(EndTxnRequest("pay", pid, 0, True), 3)).error_code == 0
    # Then it is there, and eve cannot come in any more
    assert await values_of(kafka.broker, "shared") == ["EVE", "ada"]
    answer = produced(await eve.ask(produce("shared", batch("EVE", producer=(pid, 9, 1))), 9))
    assert answer.error_code == INVALID_PRODUCER_ID_MAPPING


async def test_no_transactional_id_takes_a_producer_id_that_is_not_its_own(kafka: Secured):
    ada = await kafka.client("ada")
    pid = (await ada.ask(InitProducerIdRequest("pay", 60_000), 4)).producer_id
    for other in (pid | KEYED, pid + (1 << 40)):
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="pay", v3_and_below_producer_id=other, v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic("shared", [0])],
        )  # fmt: skip
        found = (await ada.ask(request, 3)).results_by_topic_v3_and_below[0].results_by_partition[0]
        assert found.partition_error_code == INVALID_PRODUCER_ID_MAPPING
        assert (await ada.ask(EndTxnRequest("pay", other, 0, True), 3)).error_code == INVALID_PRODUCER_ID_MAPPING


async def test_an_id_that_another_broker_handed_out_a_moment_ago_is_taken(redis_url, prefix):
    async with one(redis_url, prefix, coordinators=2) as first, one(redis_url, prefix, coordinators=2) as second:
        for _ in range(3):
            await second.producers.ids.check((await first.producers.allocate())[0])
        with pytest.raises(InvalidProducerId):
            await second.producers.ids.check((await first.producers.allocate())[0] + (1 << 40))


async def test_an_id_is_looked_up_once(redis_url, prefix, monkeypatch):
    async with one(redis_url, prefix, coordinators=2) as first, one(redis_url, prefix, coordinators=2) as second:
        pid, _ = await first.producers.allocate()
        await second.producers.ids.check(pid)

        def never(*_: object) -> None:
            raise AssertionError("a round trip for an id that was seen before")

        for coordinator in second.coordinators:
            monkeypatch.setattr(coordinator, "submit", never)
        await second.producers.ids.check(pid)
        await second.producers.ids.check(-1)


async def test_an_id_of_the_clock_that_was_accepted_is_never_handed_out_afterwards(redis_url, prefix):
    """A failover may have lost that an id was handed out: such an id is taken, and stays what it is."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        pid, _ = await broker.producers.allocate()
        coordinator = broker.coordinators.of(TxnId(0, 0))
        coordinator.following = 0  # as after a start
        await broker.producers.ids.check(pid + 1)
        assert (await broker.producers.allocate())[0] > pid + 1
