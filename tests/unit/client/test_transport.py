from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.metadata import version

import httpx
import pytest

from redis_ledger import AsyncClient, Client, errors
from redis_ledger.client._async.transport import path
from redis_ledger.client.retries import gave_up
from tests.support.stub_broker import StubBroker, lost, not_sent


class TwoBrokers(httpx.AsyncBaseTransport):
    """b1 fails as configured, b2 works."""

    def __init__(self, first: Callable[[httpx.Request], httpx.Response]) -> None:
        self.first = first
        self.second = StubBroker()
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.host)
        if request.url.host == "b1":
            return self.first(request)
        return await self.second.handle_async_request(request)


def dead(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def draining(request: httpx.Request) -> httpx.Response:
    return httpx.Response(503, json={"code": "draining", "detail": "Going."})


@pytest.mark.parametrize("first", [dead, draining])
async def test_the_next_broker_is_asked_when_one_cannot_serve_and_is_kept_then(first):
    brokers = TwoBrokers(first)
    async with AsyncClient(["http://b1:1", "http://b2:1"], http=brokers) as client:
        await client.topics.create("orders")
        await client.topics.describe("orders")
    assert brokers.asked == ["b1", "b2", "b2"]


async def test_untrusted_certificate_fails_at_once_unless_another_broker_has_a_trusted_one():
    def untrusted(request: httpx.Request) -> httpx.Response:
        said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1006)"
        raise httpx.ConnectError(said, request=request)

    brokers = TwoBrokers(untrusted)
    async with AsyncClient(["https://b1:1", "https://b2:1"], http=brokers) as client:
        await client.topics.create("orders")
    async with AsyncClient("https://b1:1", http=brokers) as client:
        with pytest.raises(errors.Unavailable, match=r"not trusted here.*certificate has expired"):
            await client.topics.create("orders")
    assert brokers.asked == ["b1", "b2", "b1"]


async def test_a_lost_answer_of_something_unsafe_is_an_unknown_outcome_and_is_not_repeated():
    # Given a transaction from elsewhere, whose sends carry no sequence number of ours
    stub = StubBroker()
    async with AsyncClient("http://b", http=stub) as client:
        txn = client.resume_transaction((await client.transactions.begin()).id)
        # When the answer of a send is lost
        stub.fail("POST", "/records", lost)
        sending = await txn.send("orders", "a")
        with pytest.raises(errors.OutcomeUnknown):
            await sending.result()
        # Then it was sent once, and the transaction cannot be committed any more
        assert stub.count("POST", "/records") == 1
        with pytest.raises(errors.TransactionAbortOnly):
            await txn.commit()
    assert stub.records == []


@pytest.mark.parametrize("how", [lost, not_sent, errors.Draining(), errors.StoreUnavailable(), errors.StoreTimeout()])
@pytest.mark.parametrize("ending", ["/transactions", "/records", ":ack", ":commit"])
async def test_each_step_of_a_transaction_survives_a_failure_and_has_one_effect(ending, how):
    stub = StubBroker()
    stub.add_messages("in")
    async with AsyncClient("http://b", http=stub) as client:
        orders = client.consumer("orders", "billing", prefetch=0)
        [message] = await orders.receive()
        stub.fail("POST", ending, how)
        async with client.transaction() as txn:
            await txn.begin()
            await txn.send("invoices", "out")
            await txn.ack(orders, message)
    assert [record.value for _, _, record in stub.records] == [b"out"]
    assert stub.acked == ["0:0"]
    assert len(stub.txns) == 1


async def test_a_repeated_call_carries_the_same_idempotency_key():
    stub = StubBroker()
    stub.fail("POST", "/transactions", lost)
    async with AsyncClient("http://b", http=stub) as client:
        await client.transactions.begin()
        await client.transactions.begin()
    first, again, second = stub.keys
    assert first == again
    assert first != second


async def test_no_broker_within_the_time_is_unavailable():
    async with AsyncClient("http://b", http=TwoBrokers(dead), timeout_ms=60) as client:
        client._transport._urls = ["http://b1:1"]
        with pytest.raises(errors.Unavailable, match="reached no broker within 60 ms"):
            await client.topics.list()


@pytest.mark.parametrize(
    ("why", "cure"),
    [
        ("[Errno 111] Connection refused", "check the address"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", "SSL_CERT_FILE"),
        ("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol", "http://"),
        ("Server disconnected without sending a response.", "https://"),
        ("RemoteDisconnected: Remote end closed connection without response", "https://"),
    ],
)
def test_protocol_mismatch_errors_name_the_cure(why, cure):
    error = gave_up("GET", "/v1/topics", httpx.ConnectError(why), lost=False, timeout_ms=50)
    assert type(error) is errors.Unavailable
    assert cure in error.detail.replace(why, "")


async def test_a_refusal_is_not_repeated():
    stub = StubBroker()
    stub.fail("GET", "/topics/orders", errors.UnknownTopic("Topic 'orders' does not exist.", topic="orders"))
    async with AsyncClient("http://b", http=stub) as client:
        with pytest.raises(errors.UnknownTopic) as refused:
            await client.topics.describe("orders")
    assert refused.value.facts == {"topic": "orders"}
    assert len(stub.calls) == 1


async def test_deleting_again_after_a_lost_answer_finds_the_work_done():
    stub = StubBroker()
    stub.fail("DELETE", "/orders", lost)
    stub.fail("DELETE", "/orders", errors.UnknownTopic())
    async with AsyncClient("http://b", http=stub) as client:
        await client.topics.delete("orders")
    assert stub.count("DELETE", "/orders") == 2


@pytest.mark.parametrize("urls", ["127.0.0.1:8080", [], ["ftp://x"]])
def test_an_address_that_cannot_be_one_is_refused_at_once(urls):
    with pytest.raises(errors.InvalidRequest):
        Client(urls)


def test_names_cannot_leave_their_place_in_a_path():
    assert (
        path("topics", "a/b", "subscriptions", "x:ack", call=":seek") == "/v1/topics/a%2Fb/subscriptions/x%3Aack:seek"
    )


async def test_requests_name_the_client_and_its_version():
    agents = []

    def answer(request: httpx.Request) -> httpx.Response:
        agents.append(request.headers["user-agent"])
        return httpx.Response(200, json={"topics": []})

    for headers in (None, {"User-Agent": "mine/1"}):
        async with AsyncClient("http://b", http=httpx.MockTransport(answer), headers=headers) as client:
            await client.topics.list()
    assert agents == [f"redis-ledger-python/{version('redis-ledger')}", "mine/1"]


@pytest.mark.parametrize(
    ("url", "more", "shown"),
    [
        ("http://b", {}, None),
        ("http://b", {"token": "t"}, "Bearer t"),
        ("http://b", {"token": "t", "headers": {"Authorization": "Mine 1"}}, "Mine 1"),
        ("http://us%40er:p%3Aw@b", {"token": "t"}, "Basic dXNAZXI6cDp3"),  # us@er:p:w
    ],
)
async def test_one_authorization_is_shown_and_that_of_the_address_comes_first(url, more, shown):
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get_list("authorization"))
        return httpx.Response(200, json={"topics": []})

    async with AsyncClient(url, http=httpx.MockTransport(answer), **more) as client:
        await client.topics.list()
    assert seen[0] == ([] if shown is None else [shown])


class Busy(httpx.AsyncBaseTransport):
    """Answers when it is released, and counts."""

    def __init__(self) -> None:
        self.now = self.most = self.answered = 0
        self.released = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.released.wait()
        self.now -= 1
        self.answered += 1
        if request.url.path.endswith(":receive"):
            return httpx.Response(200, json={"messages": []})
        return httpx.Response(200, json={"topics": []})


async def test_no_more_requests_than_the_limit_are_under_way_and_all_are_answered():
    busy = Busy()
    async with AsyncClient("http://b", http=busy, requests_max=3) as client:
        calls = [asyncio.create_task(client.topics.list()) for _ in range(50)]
        while busy.now < 3:
            await asyncio.sleep(0)
        calls[10].cancel()  # one that waits for its turn
        calls[0].cancel()  # and one that has it
        busy.released.set()
        done = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in done].count(asyncio.CancelledError) == 2
    assert sum(each == [] for each in done) == 48
    assert busy.most == 3


async def test_waiting_for_a_turn_ends_with_the_time_of_the_call():
    busy = Busy()
    async with AsyncClient("http://b", http=busy, requests_max=1, timeout_ms=50) as client:
        first = asyncio.create_task(client.topics.list())
        while not busy.now:
            await asyncio.sleep(0)
        with pytest.raises(
            errors.Unavailable, match=r"waited 50 ms for other requests.*requests_max.*Nothing was sent"
        ):
            await client.topics.list()
        busy.released.set()
        assert await first == []
        assert await client.topics.list() == []


async def test_consumers_that_wait_for_messages_take_no_turn_of_other_calls():
    busy = Busy()
    async with AsyncClient("http://b", http=busy, requests_max=1) as client:
        polls = [
            asyncio.create_task(client._leases.receive("t", "s", "c", 1, 1_000, 1_000)) for _ in range(5)
        ]  # fmt: skip
        while busy.now < 5:
            await asyncio.sleep(0)
        call = asyncio.create_task(client.topics.list())
        while busy.now < 6:
            await asyncio.sleep(0)
        busy.released.set()
        assert await asyncio.gather(call, *polls) == [[]] * 6
