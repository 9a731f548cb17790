"""What is sent to the REST port: bodies that are almost right, and bombs (bombs.py), one after the other.

a request that means something ─▶ one or two values replaced, bytes cut or changed ─▶ sent ─▶ answered, and not by 500
record batches as they are     ─▶ hostile ones (batches.py)
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import httpx

from tests.fuzz.batches import hostile
from tests.fuzz.bombs import Bomb
from tests.fuzz.drive import Address
from tests.fuzz.findings import Findings

ANSWER_S_MAX = 25.0
JSON, BATCH = "application/json", "application/vnd.redis-ledger.batch"
BATCHES_PATH = "/v1/topics/bombs/records?partition=3"
BOMB_EVERY = 10  # requests
_TOPIC = "/v1/topics/fuzz-0"
_SUBSCRIPTION = f"{_TOPIC}/subscriptions/fuzz"
_RECORDS: list[Any] = [{"key": "k", "value": {"a": [1]}, "headers": {"h": "v"}}, {"text": "t", "deliver_after": "1s"}]
REQUESTS: tuple[tuple[str, Any], ...] = (
    ("/v1/topics", {"name": "fuzz-passing-0", "partitions": 2, "settings": {"retention_ms": 1000}}),
    (f"{_TOPIC}/records", {"records": _RECORDS, "partition": 0}),
    (f"{_TOPIC}/records", {"records": _RECORDS, "partition": 0, "producer_id": 1, "epoch": 0, "sequence": 0}),
    ("/v1/transactions", {"timeout_ms": 1000, "owner": "fuzz", "together": "fuzz"}),
    ("/v1/transactions/0-1/partitions", {"partitions": [{"topic": "fuzz-0", "partition": 0}]}),
    ("/v1/transactions:execute", {
        "records": [{"topic": "fuzz-0", "records": _RECORDS}],
        "acks": [{"topic": "fuzz-0", "subscription": "fuzz", "ids": ["0:1"]}],
    }),
    (f"{_TOPIC}/subscriptions", {"name": "fuzz", "start": "earliest"}),
    (f"{_SUBSCRIPTION}:receive", {"max_messages": 10, "wait_ms": 0}),
    (f"{_SUBSCRIPTION}:ack", {"ids": ["0:1", "0:2"]}),
    (f"{_SUBSCRIPTION}:ackCumulative", {"ids": ["0:1"]}),
    (f"{_SUBSCRIPTION}:nack", {"ids": ["0:1"], "delay_ms": 5}),
    (f"{_SUBSCRIPTION}:extend", {"ids": ["0:1"], "ack_timeout_ms": 5}),
    (f"{_TOPIC}/scheduled:cancel", {"ids": ["0-1"]}),
)  # fmt: skip
_deep: Any = []
for _ in range(200):
    _deep = [_deep]
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, (1 << 63) - 1, 1 << 64, 1e308, "", "x" * 40_000, "\0", "\ud800", "ü/../%00", [], {},
    _deep,    [None] * 3_000, [{}] * 3_000, {"value": 1}, {str(n): n for n in range(3_000)},
)  # fmt: skip


class Request(NamedTuple):
    name: str
    path: str
    content_type: str
    body: bytes


class Rest:
    """bombs: bodies of JSON; batches: as they are produced.  outcomes: statuses of what was sent."""

    def __init__(
        self, address: Address, findings: Findings, seed: int, bombs: Sequence[Bomb], batches: Sequence[Bomb]
    ) -> None:
        self._address, self._findings, self._seed, self._bombs, self._batches = address, findings, seed, bombs, batches
        self.outcomes: Counter[str] = Counter()

    async def run(self, until: Callable[[], bool]) -> None:
        number = 0
        url = f"http://{self._address[0]}:{self._address[1]}"
        async with httpx.AsyncClient(trust_env=False, timeout=ANSWER_S_MAX, base_url=url) as http:
            while not until():
                await self._send(http, self.request(number))
                await asyncio.sleep(0)
                number += 1

    def request(self, number: int) -> Request:
        """The same seed and number make the same request."""
        rng = Random(f"{self._seed}/rest/{number}")
        turn, is_bomb = divmod(number, BOMB_EVERY)
        if not is_bomb and turn % 3 == 2:
            bomb = self._batches[turn // 3 % len(self._batches)]
            return Request(bomb.name, BATCHES_PATH, BATCH, bomb.data)
        if not is_bomb:
            bomb = self._bombs[(turn - turn // 3) % len(self._bombs)]  # every third turn is a batch's
            path = rng.choice(REQUESTS)[0] if rng.random() < 0.5 else f"{_TOPIC}/records"
            return Request(bomb.name, path, JSON, bomb.data)
        if rng.random() < 0.2:
            return Request("hostile batch", BATCHES_PATH, BATCH, hostile(rng))
        path, body = rng.choice(REQUESTS)
        return Request(path, path, JSON, damaged(json.dumps(mutated(body, rng)).encode(), rng))

    async def _send(self, http: httpx.AsyncClient, one: Request) -> None:
        self._findings.sent("127.0.0.1", -2, one.body[:4_096])
        try:
            answer = await http.post(one.path, content=one.body, headers={"content-type": one.content_type})
        except httpx.TimeoutException:
            self.outcomes["no answer"] += 1
            self._findings.add(
                "REST", f"{one.name} to {one.path}: no answer in {ANSWER_S_MAX:.0f} s", f"slow {one.name}"
            )
        except httpx.TransportError as error:
            self.outcomes[type(error).__name__] += 1  # a body that is too large may be cut off
        else:
            self.outcomes[str(answer.status_code)] += 1
            if answer.status_code == 500:
                message = f"{one.name} to {one.path}: {answer.text[:300]} for {one.body[:300]!r}"
                self._findings.add("REST", message, f"500 for {one.path}")


def mutated(body: Any, rng: Random) -> Any:
    """A copy in which one or two values are odd, or there very often."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice((0, 1, 1, 2))):
        owner, place = rng.choice(list(places(body)))
        if isinstance(owner[place], list) and owner[place] and rng.random() < 0.3:
            owner[place] = [owner[place][0]] * rng.choice((2, 100, 3_000))
        else:
            owner[place] = copy.deepcopy(rng.choice(ODD))
    return body


def places(value: Any, depth: int = 0) -> Any:
    """Each member and element: what holds it, and where there."""
    if depth < 8 and isinstance(value, dict | list):
        for place, inner in list(value.items() if isinstance(value, dict) else enumerate(value[:5])):
            yield value, place
            yield from places(inner, depth + 1)


def damaged(data: bytes, rng: Random) -> bytes:
    """As it is, mostly; or cut, or with other bytes."""
    if rng.random() < 0.8:
        return data
    at = rng.randrange(len(data))
    return rng.choice((data[:at], data[:at] + b"\xff" + data[at + 1 :], data[:at] + data[at // 2 :], data + data))
