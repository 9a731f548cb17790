"""The SDK raises only LedgerErrors: every public method is called with wrong arguments, on a closed client, and
against servers with invalid responses.  The other half of the SDK is generated from the same source."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from redis_ledger import Client, LedgerError, Message, Record, ScheduledId, errors
from redis_ledger.client import Acl
from redis_ledger.client.batches import BatchingOptions, Entry
from redis_ledger.client.models import ScheduledRecord
from tests.support.stub_broker import StubBroker

# object → method → arguments that are right
METHODS: dict[str, dict[str, dict[str, Any]]] = {
    "client": {
        "producer": {"topic": "t"},
        "consumer": {"topic": "t", "subscription": "s"},
        "transaction": {},
        "resume_transaction": {"id": "1-0"},
        "execute": {"acks": [(("t", "s"), ["0:1"])], "records": {"t": [Record("v", key="k")]}, "idempotency_key": "k"},
        "read": {"topic": "t", "partition": 0},
        "open_large": {"message": Message("t", 0, 1, b"k", b"", {}, 0)},
        "close": {},
    },
    "topics": {
        "create": {"name": "t", "partitions": 1, "settings": {}},
        "list": {},
        "describe": {"name": "t"},
        "offset_at": {"name": "t", "partition": 0, "timestamp_ms": 1},
        "grow": {"name": "t", "partitions": 2, "settings": {}},
        "delete": {"name": "t"},
        "partition_count": {"name": "t"},
        "forget_partition_count": {"name": "t"},
        "transactions": {"name": "t", "partition": 0},
        "transaction": {"name": "t", "partition": 0, "id": "1-0"},
    },
    "subscriptions": {
        "create": {"topic": "t", "name": "s"},
        "list": {"topic": "t"},
        "stats": {"topic": "t", "name": "s"},
        "delete": {"topic": "t", "name": "s"},
        "seek": {"topic": "t", "name": "s", "offsets": {0: 1}},
        "snapshot": {"topic": "t", "name": "s"},
        "extend": {"topic": "t", "name": "s", "consumer": "c", "ids": ["0:1"]},
        "set_dead_letters": {"topic": "t", "name": "s", "max_deliveries": 3, "dead_letter_topic": "d"},
        "set_redelivery": {"topic": "t", "name": "s", "min_ms": 5},
        "put_back": {"topic": "t", "name": "s"},
        "note_offsets": {"topic": "t", "name": "s", "offsets": {0: 1}, "txn": "1-0"},
        "lag": {"topic": "t", "name": "s"},
        "lags": {"topic": "t", "name": "s", "after": "t/r"},
        "pending": {"topic": "t", "name": "s", "transaction": "1-0"},
        "record_state": {"topic": "t", "name": "s", "id": "0:1"},
        "analyze_backlog": {"topic": "t", "name": "s", "partition": 0},
    },
    "transactions": {
        "list": {},
        "get": {"id": "1-0"},
        "begin": {},
        "commit": {"id": "1-0"},
        "abort": {"id": "1-0"},
        "commit_all": {"ids": ["1-0"], "once": ("n", 1)},
        "once": {"name": "n"},
        "participants": {"id": "1-0"},
        "why": {"topic": "t"},
    },
    "coordinators": {
        "list": {},
        "get": {"number": 1},
        "log": {"number": 1, "transaction": "1-0"},
        "raise_count": {"count": 32},
    },
    "scheduled": {
        "schedule": {"topic": "t", "value": "v", "key": "k", "headers": {"h": "v"}, "deliver_at": 5},
        "get": {"topic": "t", "id": "0:1.0"},
        "list": {"topic": "t", "key": "k"},
        "cancel": {"topic": "t", "id": "0:1.0"},
        "cancel_many": {"topic": "t", "ids": ["0:1.0"]},
        "reschedule": {"topic": "t", "id": "0:1.0", "deliver_at": 5},
        "clear": {"topic": "t"},
        "stats": {"topic": "t"},
        "histogram": {"topic": "t"},
        "rebuild": {"topic": "t"},
    },
    "offload": {
        "describe": {"topic": "t"},
        "plan": {"topic": "t", "partition": 0},
        "publish": {"topic": "t", "partition": 0, "plan": "p", "segments": []},
        "abandon": {"topic": "t", "partition": 0, "plan": "p"},
        "swap": {"topic": "t", "partition": 0, "version": 1, "remove": [0], "add": [], "topic_id": "i"},
        "forget": {"topic": "t", "partition": 0},
    },
    "acls": {
        "list": {"principal": "User:ada"},
        "add": {"acls": [Acl("User:ada", "READ", "TOPIC", "t")]},
        "delete": {"principal": "User:ada"},
    },
    "tokens": {"list": {}, "create": {"principal": "User:ada"}, "revoke": {"id": "4f"}},
    "audit": {"list": {}},
    "producer": {
        "send": {"value": "v", "key": "k", "headers": {"h": "v"}, "partition": 0, "timestamp_ms": 1},
        "send_large": {"value": b"v", "key": "k", "headers": {"h": "v"}, "partition": 0, "timestamp_ms": 1},
        "flush": {},
        "close": {},
    },
    "consumer": {
        "receive": {"max_messages": 1, "wait_ms": 1},
        "ack": {"messages": "0:1"},
        "ack_cumulative": {"message": "0:1"},
        "nack": {"messages": ["0:1"]},
        "reconsume_later": {"messages": ["0:1"], "delay_ms": 5, "reason": "busy"},
        "dead_letter": {"messages": ["0:1"], "reason": "wrong"},
        "extend": {"messages": ["0:1"]},
        "redeliver_unacked": {},
        "seek": {"to": "earliest"},
        "close": {},
    },
    "transaction": {
        "begin": {},
        "send": {"topic": "t", "value": "v", "key": "k"},
        "ack": {"source": ("t", "s"), "messages": "0:1"},
        "ack_cumulative": {"source": ("t", "s"), "message": "0:1"},
        "put": {"topic": "t", "partition": 0, "entry": Entry(None, b"v", (), 1), "batching": BatchingOptions(0, 100)},
        "waiting_partition": {"topic": "t"},
        "acknowledges": {"source": ("t", "s", "c")},
        "hurry": {},
        "operation": {},
        "check_usable": {},
        "fail": {"error": errors.Draining()},
        "commit": {},
        "abort": {},
    },
}
NAMES = [(owner, method) for owner, methods in METHODS.items() for method in methods]
# What other modules of the SDK call; callers have no use for it.
INTERNAL = {
    "fail",
    "operation",
    "check_usable",
    "put",
    "waiting_partition",
    "acknowledges",
    "hurry",
    "forget_partition_count",
}
WRONG = [object(), 7, -1, 1.5, "", "x", b"\xff", "\ud800", [object()], {"a": object()}, (1, 2, 3), None, float("nan")]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """What a call may take beyond timeout_ms."""
    monkeypatch.setattr("redis_ledger.client._sync.offload.FILES_MS", 0)
    monkeypatch.setattr("redis_ledger.client._sync.consumer.CLOSE_MS", 20)


def raises(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


def always(status: int, content: bytes, **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, content=content, headers=headers)


SERVERS = {
    "nothing": always(204, b""),
    "bytes": always(200, b"\x00\xff\x01"),
    "a page": always(200, b"<html>Please log in.</html>"),
    "null": always(200, b"null"),
    "a list": always(200, b"[]"),
    "an empty object": always(200, b"{}"),
    "empty results": always(200, b'{"results": [], "messages": [{"offset": 1, "base64": "?"}]}'),
    "deep JSON": always(200, b"[" * 5_000),
    "bad gzip": always(200, b"junk", **{"content-encoding": "gzip"}),
    "a redirect": always(302, b"", location="https://elsewhere/"),
    "502 of a proxy": always(502, b"<html>Bad Gateway</html>"),
    "404 of another server": always(404, b"not here"),
    "odd facts": always(409, b'{"code": "topic_exists", "detail": "D", "self": 1, "http_status": "x"}'),
    "a problem of another kind": always(400, b'{"code": 5, "detail": ["x"]}'),
    "half an answer": raises(httpx.RemoteProtocolError("peer closed connection without sending complete message body")),
    "an address that is none": raises(httpx.InvalidURL("Invalid port")),
    "no answer": raises(httpx.ReadTimeout("timed out")),
}  # fmt: skip


def owner_of(client: Client, name: str) -> Any:
    made = {
        "client": lambda: client,
        "producer": lambda: client.producer("t", linger_ms=0),
        "consumer": lambda: client.consumer("t", "s", prefetch=0),
        "transaction": lambda: client.resume_transaction("1-0"),
    }
    return made[name]() if name in made else getattr(client, name)


def leaked(client: Client, owner: str, method: str, given: dict[str, Any]) -> BaseException | None:
    """Calls the method and waits for what it returns: the exception that leaves the SDK and is not a LedgerError."""
    try:
        with client:
            found = getattr(owner_of(client, owner), method)(**given)
            if hasattr(found, "result"):
                found.result()
            elif isinstance(found, Iterator):
                list(found)
    except LedgerError:
        return None
    except Exception as error:  # noqa: BLE001 - to find them is what this is for
        return error
    return None


def client_of(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://b", http=httpx.MockTransport(answer), timeout_ms=20, headers={})


def test_no_public_method_is_missing_here():
    client = Client("http://b", http=StubBroker())
    found = {
        (owner, name)
        for owner in METHODS
        for name, _ in inspect.getmembers(type(owner_of(client, owner)), inspect.isfunction)
        if not name.startswith("_")
    }
    assert found == set(NAMES)


@pytest.mark.parametrize(("owner", "method"), NAMES, ids=lambda name: name)
def test_no_server_makes_another_exception_leave(owner, method):
    found = {name: leaked(client_of(answer), owner, method, METHODS[owner][method]) for name, answer in SERVERS.items()}
    assert {name: error for name, error in found.items() if error is not None} == {}


@pytest.mark.parametrize(
    ("owner", "method"), [each for each in NAMES if each[1] not in INTERNAL], ids=lambda name: name
)  # fmt: skip
def test_no_argument_makes_another_exception_leave(owner, method):
    right = METHODS[owner][method]
    with Client("http://b", http=StubBroker()) as client:
        names = inspect.signature(getattr(owner_of(client, owner), method)).parameters
    # `txn` of a send is a transaction, and of nothing else is there a way to make one.
    refusing = always(400, b'{"code": "invalid_request", "detail": "No."}')
    found = [
        (name, wrong, leaked(client_of(refusing), owner, method, {**right, name: wrong}))
        for name in names.keys() - {"txn", "wanted"}
        for wrong in WRONG
    ]
    assert [each for each in found if each[2] is not None] == []


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        each
        for each in NAMES
        if each[1] not in {"close", "flush", *INTERNAL} and each[0] != "client" and each != ("transaction", "begin")
    ],
    ids=lambda name: name,
)
def test_closed_client_raises_and_sends_nothing(owner, method):
    stub = StubBroker()
    client = Client("http://b", http=stub)
    closed = owner_of(client, owner)
    client.close()
    with pytest.raises(errors.ClientClosed):
        list(getattr(closed, method)(**METHODS[owner][method]))
    assert stub.calls == []


@pytest.mark.parametrize("name", ["urls", "timeout_ms", "attempt_ms", "requests_max", "polls_max", "headers"])
@pytest.mark.parametrize("wrong", [object(), 7, -1, "x", [object()], {"a": "line\nbreak"}, "http://127.0.0.1:x"])
def test_a_client_is_made_of_what_it_can_use_or_not_at_all(name, wrong):
    if wrong == 7 and name not in ("urls", "headers"):
        return  # right
    with pytest.raises(errors.InvalidRequest):
        Client(**{"urls": "http://b", name: wrong})


def test_redirect_executes_nothing_and_has_its_target():
    with client_of(SERVERS["a redirect"]) as client, pytest.raises(errors.UnexpectedAnswer, match="https://elsewhere/"):
        client.topics.delete("t")


def test_a_change_whose_answer_cannot_be_read_may_have_been_carried_out():
    with client_of(SERVERS["a page"]) as client:
        with pytest.raises(errors.OutcomeUnknown, match="Please log in"):
            client.topics.create("t")
        with pytest.raises(errors.UnexpectedAnswer, match="Please log in"):
            client.topics.list()


def test_proxy_errors_while_brokers_are_down_are_unavailable():
    with client_of(SERVERS["502 of a proxy"]) as client, pytest.raises(errors.Unavailable, match="proxy"):
        client.topics.list()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"key": 7}, r"key is 7 \(int\); give str, bytes or None"),
        ({"key": "\ud800"}, "key is"),
        ({"value": object()}, "a object, cannot be written"),
        ({"headers": {"h": 1}}, "not 'h' with 1"),
        ({"headers": [1]}, "headers is"),
        ({"partition": "0"}, r"partition is '0' \(str\)"),
        ({"timestamp_ms": 1.5}, "timestamp_ms is 1.5"),
        ({"timestamp_ms": True}, r"timestamp_ms is True \(bool\)"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named_before_anything_is_sent(given, named):
    stub = StubBroker()
    with Client("http://b", http=stub) as client, pytest.raises(errors.InvalidRequest, match=named):
        client.producer("t").send(**{"value": "v", **given})
    assert stub.calls == []


@pytest.mark.parametrize("kind", [Message, ScheduledRecord])
def test_a_value_that_is_neither_json_nor_text_is_still_there_as_bytes(kind):
    rest = {"partition": 0, "offset": 4} if kind is Message else {"id": ScheduledId(0, 4, 0), "deliver_at_ms": 5}
    record = kind(topic="t", key=None, value=b"\xff{", headers={}, timestamp_ms=1, **rest)
    for read in (record.json, record.text):
        with pytest.raises(errors.UnreadableValue, match="t 0:4"):
            read()
    assert record.value == b"\xff{"
