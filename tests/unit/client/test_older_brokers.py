"""Brokers of an earlier release that lack features of this SDK."""

from __future__ import annotations

import pytest

from redis_ledger import AsyncClient, errors
from redis_ledger.client import older_brokers
from redis_ledger.client._async.leases import NEWER
from redis_ledger.client.older_brokers import TRIED_AGAIN_S, OlderBrokers
from redis_ledger.errors import InvalidRequest
from tests.support.stub_broker import StubBroker, lost

REFUSED = InvalidRequest("$: object contains unknown field request_id.")


@pytest.fixture
def stub():
    stub = StubBroker()
    stub.add_messages(*range(10))
    stub.refused = NEWER
    return stub


@pytest.fixture
async def client(stub):
    async with AsyncClient("http://b", http=stub) as client:
        yield client


async def received(client, **options):
    async with client.consumer("orders", "billing", prefetch=0, **options) as consumer:
        return [message.json() for _ in range(5) for message in await consumer.receive(2)]


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
async def test_a_consumer_receives_from_a_broker_that_refuses_newer_members(stub, client, kind):
    assert await received(client, kind=kind) == list(range(10))
    # One request was refused, and the others left the members out
    assert stub.count("POST", ":receive") == 6


async def test_the_repeat_of_a_lost_receive_is_understood_by_an_older_broker(stub, client):
    stub.refused = ()
    stub.fail("POST", ":receive", lost)
    async with client.consumer("orders", "billing", prefetch=0) as consumer:
        await consumer._create()
        stub.refused = ("attempt",)
        assert [message.json() for message in await consumer.receive(2)] == [2, 3]  # 0 and 1 come when their lease ends


async def test_an_exclusive_consumer_gives_back_what_it_has_no_use_for_where_it_cannot_name_what_it_has(stub, client):
    consumer = client.consumer("orders", "billing", kind="exclusive", prefetch=4)
    # Given messages that arrive after the consumer was reset
    stub.fail("POST", ":receive", lambda _: consumer._forget_ahead())
    stub.refused = NEWER
    found = [message.json() for _ in range(4) for message in await consumer.receive(100, wait_ms=200)]
    assert sorted(found) == list(range(10))
    await consumer.close()


def test_newer_members_are_left_out_for_a_while_and_tried_again():
    now = [0.0]
    brokers = OlderBrokers(lambda: now[0])
    body = {"consumer": "c", "request_id": "r"}
    assert brokers.request(body, NEWER) == body
    assert brokers.note(REFUSED, body, NEWER)
    assert brokers.request(body, NEWER) == {"consumer": "c"}
    assert brokers.request({"after": "x"}, ("after",)) == {"after": "x"}  # of another request
    now[0] = TRIED_AGAIN_S
    assert brokers.request(body, NEWER) == body


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (REFUSED, "request_id"),
        (InvalidRequest("Object contains unknown field `request_id`"), "request_id"),
        (InvalidRequest("There is no field request_id.", unknown_field="request_id"), "request_id"),
        (InvalidRequest("$.max_records: expected int <= 10000."), ""),
    ],
)
def test_the_member_that_a_broker_does_not_know_is_found_in_its_answer(error, name):
    assert older_brokers.unknown_field(error) == name


async def test_a_refusal_of_anything_else_is_raised(stub, client):
    stub.refused = ("consumer",)
    with pytest.raises(errors.InvalidRequest, match="unknown field consumer"):
        await received(client)
    assert stub.count("POST", ":receive") == 1
    # Also of a member that was not sent
    stub.fail("POST", ":receive", REFUSED)
    client._transport.older.note(REFUSED, {"request_id": ""}, NEWER)
    with pytest.raises(errors.InvalidRequest):
        await received(client)


async def test_a_topic_id_is_sent_where_it_is_given_and_nothing_in_its_place_where_not(stub, client):
    stub.refused = ("topic_id",)
    for call in (client.offload.plan, client.offload.forget):
        with pytest.raises(errors.LedgerError):
            await call("orders", 0)  # the stub has no such answer
        assert "topic_id" not in stub.bodies[-1]
        with pytest.raises(errors.InvalidRequest, match="unknown field topic_id"):
            await call("orders", 0, topic_id="t")
