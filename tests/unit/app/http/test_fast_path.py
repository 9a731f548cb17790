"""The fast path and the framework route and authorize every spelling of a path alike."""

from __future__ import annotations

import ast
import asyncio
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.app.http.application import OPERATIONS, create_app
from redis_ledger.app.http.fast_path import FastPath
from redis_ledger.app.http.operations import Operation
from redis_ledger.app.http.request import HttpResponse
from redis_ledger.auth.acl import CLUSTER_NAME, Caller, Op, Resource, Rules
from redis_ledger.auth.requirement import FORBIDDEN
from tests.support.principals import rule
from tests.unit.app.fake import FakeBroker

# "mine" and names that begin with "pre-" are allowed, except those that begin with "pre-secret" and "pre-x".
TOPICS = ["mine", "theirs", "pre-", "pre-a", "pre-x", "pre-secret-a", "pre", "MINE", "*", "3-17"]
ODD = [
    "mine\n",
    "mine ",
    "pre-x\n",
    "pre-secret\0",
    "mi\0ne",
    "\uff4dine",
    "mine:3",
    "..",
    "mine%2f",
    "mine;",
    "a}b",
    "",
]
SLASHES = ["mine/..", "../theirs", "mine/records", "theirs/../mine", "/mine", "./mine", "mine\\theirs"]
ENDS = ["", "\n", "\r\n", "/", " ", "\0", ":", ":ack", ":receive", "/records", "/x:ack"]
GROUPS = ["sub", "theirs", "pre-a", "pre-secret", "a/b", "sub\n", "a:ack", "sub:receive/x", ""]
PLACE = "/v1/topics/{topic}/subscriptions/{name}"
TAILS = sorted({each.path.removeprefix(PLACE) for each in OPERATIONS if each.path.startswith(PLACE)})


def secured() -> Any:
    """A broker whose caller has rights on some names."""
    rules = Rules(
        [
            *(rule("eve", op, Resource.TOPIC, "mine") for op in (Op.READ, Op.WRITE)),
            *(rule("eve", Op.ALL, kind, "pre-", prefix=True) for kind in (Resource.TOPIC, Resource.GROUP)),
            rule("eve", Op.ALL, Resource.TOPIC, "pre-secret", prefix=True, deny=True),
            rule("eve", Op.ALL, Resource.GROUP, "pre-secret", prefix=True, deny=True),
            rule("eve", Op.ALL, Resource.TOPIC, "pre-x", deny=True),
            rule("eve", Op.READ, Resource.GROUP, "sub"),
        ]
    )  # fmt: skip

    def check(caller: Caller, operation: Op, resource: Resource, name: str = CLUSTER_NAME) -> None:
        if not rules.allow(caller, operation, resource, name):
            raise FORBIDDEN[resource]

    async def recognize(_token: str) -> tuple[str, int]:
        return "User:eve", 0

    broker: Any = FakeBroker()
    broker.transaction_owners = SimpleNamespace(check=lambda *_: asyncio.sleep(0, result=True))
    broker.security = SimpleNamespace(
        is_on=True, generation=0, jwts=None, rules=rules, check=check, recognize=recognize,
        check_some=lambda *_: None, may_create=lambda *_: False, allows=rules.allow,
    )  # fmt: skip
    return broker


class Application:
    """An application around a broker of its own.  is_hot: the fast path is in use."""

    def __init__(self, *, is_hot: bool) -> None:
        self._app: FastPath = create_app(secured())
        if not is_hot:
            self._app._hot = {}

    async def ask(self, method: str, path: str) -> tuple[int, bytes]:
        """The status; the body of a problem, or what ran."""
        sent: list[Any] = []
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": b"", "query_string": b"", "root_path": "",
            "headers": [(b"authorization", b"Bearer x"), (b"x-request-id", b"r")], "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2), "scheme": "http", "http_version": "1.1",
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[Application, Application]:
    """The fast path, and the framework.  An operation that is allowed returns its name and parameters."""

    async def run(self: Operation, _request: Any, parameters: Any) -> HttpResponse:
        return HttpResponse(200, repr((self.id, dict(parameters))).encode())

    monkeypatch.setattr(Operation, "run", run)
    return Application(is_hot=True), Application(is_hot=False)


def paths(shape: str) -> list[str]:
    """Spellings of an operation's path."""
    found = set[str]()
    for name, end in product([*TOPICS, *ODD, *SLASHES], ENDS):
        found.add(shape.format(topic=name, partition="0", id=name, name="sub") + end)
    if "{name}" in shape:
        groups = [*GROUPS, *(f"sub{tail.replace('{', '').replace('}', '')}" for tail in TAILS)]
        for name, group, end in product(("mine", "theirs", "pre-x"), groups, ("", "\n", ":ack")):
            found.add(shape.format(topic=name, name=group) + end)
    return sorted(found)


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.hot], ids=lambda each: each.id)
async def test_a_hot_path_is_routed_and_authorized_as_by_the_framework(both, operation):
    fast, framework = both
    statuses = set[int]()
    for path in paths(operation.path):
        status, found = await fast.ask(operation.method, path)
        assert (status, found) == await framework.ask(operation.method, path), repr(path)
        statuses.add(status)
        if status == 200 and "{topic}" in operation.path:
            topic = ast.literal_eval(found.decode())[1]["topic"]
            assert topic == "mine" or (topic.startswith("pre-") and not topic.startswith("pre-secret")), repr(path)
            assert topic != "pre-x", repr(path)
    assert statuses >= {200, 404}


async def test_no_path_ends_in_a_newline(both):
    _, framework = both
    for operation in OPERATIONS:
        path = operation.path.replace("{name}", "x").replace("{topic}", "mine").replace("{", "").replace("}", "")
        if "{" not in operation.path.rpartition("/")[2]:
            status, body = await framework.ask(operation.method, path + "\n")
            assert (status, b"route_not_found" in body) == (404, True), operation.path
    assert (await framework.ask("GET", "/console\n"))[0] == 404
