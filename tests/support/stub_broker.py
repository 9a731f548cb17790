"""A broker's REST face over dicts, in place of the network: what the SDK's own tests talk to.

It knows topics, batches (deduplicated by producer and sequence), one subscription's leases, scheduled records and
transactions, and it can fail: `stub.fail("POST", ":commit", lost)` makes the next such call be carried out and its
answer vanish.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from base64 import b64decode
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx

from redis_ledger import errors
from redis_ledger.client.pace import Pace
from redis_ledger.errors import LedgerError
from redis_ledger.records.batch import read_header
from redis_ledger.records.read import decode
from tests.support.stub_scheduled import StubScheduled

POLL_S = 0.01


def lost(request: httpx.Request) -> None:
    raise httpx.ReadError("the connection broke", request=request)


def not_sent(request: httpx.Request) -> None:
    raise httpx.ConnectError("connection refused", request=request)


@dataclass
class Fault:
    method: str
    ending: str
    how: Callable[[httpx.Request], None] | LedgerError
    is_after: bool  # the call is carried out first


@dataclass
class Txn:
    status: str = "open"
    records: list[tuple[str, int, Any]] = field(default_factory=list)
    acks: list[str] = field(default_factory=list)


class StubBroker(httpx.AsyncBaseTransport, httpx.BaseTransport):
    def __init__(self, partitions: int = 1) -> None:
        self.partitions = partitions
        self.partition_states: list[dict[str, int]] = []
        self.calls: list[tuple[str, str]] = []  # method, path
        self.bodies: list[Any] = []
        self.keys: list[str | None] = []
        self.records: list[tuple[str, int, Any]] = []  # what is visible: topic, partition, record
        self.batches: list[tuple[Any, list[Any]]] = []  # transaction, records, in the order they arrived
        self.seen: dict[tuple[str, int, int], dict[int, int]] = {}  # topic, partition, producer → sequence → offset
        self.ends: dict[tuple[str, int], int] = {}
        self.txns: dict[str, Txn] = {}
        self.answers: dict[str, httpx.Response] = {}
        self.queue: deque[dict[str, Any]] = deque()
        self.leased: dict[str, dict[str, Any]] = {}
        self.acked: list[str] = []
        self.faults: list[Fault] = []
        self.refused: tuple[str, ...] = ()  # members of a body that this broker does not know
        self.producers = 0
        self.scheduled = StubScheduled()

    def fail(self, method: str, ending: str, how: Callable[[httpx.Request], None] | LedgerError) -> None:
        """The next call whose path ends so.  An error is answered instead of doing it; `lost` comes after doing it."""
        self.faults.append(Fault(method, ending, how, is_after=how is lost))

    def add_messages(self, *values: Any) -> None:
        for value in values:
            offset = len(self.queue) + len(self.leased) + len(self.acked)
            self.queue.append(
                {
                    "id": f"0:{offset}",
                    "partition": 0,
                    "offset": offset,
                    "redelivery_count": 0,
                    "timestamp_ms": 1,
                    "value": value,
                }
            )

    def count(self, method: str, ending: str) -> int:
        return sum(1 for called, path in self.calls if called == method and path.endswith(ending))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = self._answer(request, await request.aread())
        if response.headers.get("idle"):
            await asyncio.sleep(POLL_S)
        return response

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._answer(request, request.read())
        if response.headers.get("idle"):
            time.sleep(POLL_S)  # what a long poll does
        return response

    def _answer(self, request: httpx.Request, content: bytes) -> httpx.Response:
        path = request.url.path
        self.calls.append((request.method, path))
        key = request.headers.get("idempotency-key")
        self.keys.append(key)
        fault = next((f for f in self.faults if f.method == request.method and path.endswith(f.ending)), None)
        if fault is not None:
            self.faults.remove(fault)
            if isinstance(fault.how, LedgerError):
                return _problem(fault.how)
            if not fault.is_after:
                fault.how(request)
        if key is not None and key in self.answers:
            response = self.answers[key]
        else:
            try:
                response = self._do(request, path, content)
            except LedgerError as error:
                response = _problem(error)
            if key is not None:
                self.answers[key] = response
        if fault is not None and not isinstance(fault.how, LedgerError):
            fault.how(request)
        return httpx.Response(response.status_code, content=response.content, headers=response.headers)

    def _do(self, request: httpx.Request, path: str, content: bytes) -> httpx.Response:
        if path.endswith("/records") and request.method == "POST":
            name = path.split("/")[3]
            if request.headers["content-type"] == "application/json":
                return self._produce_json(name, json.loads(content))
            return self._produce(name, request, content)
        body = json.loads(content) if content else {}
        self.bodies.append(body)
        for name in self.refused:
            if name in body:
                raise errors.InvalidRequest(f"$: object contains unknown field {name}.")
        if "/scheduled" in path:
            rest = path.split("/scheduled", 1)[1]
            answer = self.scheduled.do(request.method, rest, dict(request.url.params), body)
            return httpx.Response(204) if answer is None else _json(answer)
        if path == "/v1/producers":
            self.producers += 1
            return _json({"producer_id": self.producers, "epoch": 0})
        if path == "/v1/transactions" and request.method == "POST":
            id = f"1-{len(self.txns)}"
            self.txns[id] = Txn()
            return _json({"id": id, "status": "open", "timeout_ms": body.get("timeout_ms", 0)})
        if path == "/v1/transactions:execute":
            return self._execute(body)
        found = re.fullmatch(r"/v1/transactions/([\d-]+):(commit|abort)", path)
        if found is not None:
            return self._end(found[1], found[2])
        if "/subscriptions" in path:
            return self._subscription(path, body)
        if request.method == "DELETE":
            return httpx.Response(204)
        name = body.get("name") or path.rsplit("/", maxsplit=1)[-1]
        topic: dict[str, Any] = {
            "name": name,
            "id": "t",
            "partitions": self.partitions,
            "settings": {},
            "created_ms": 1,
        }
        return _json({**topic, "partition_states": self.partition_states})

    def _produce(self, topic: str, request: httpx.Request, content: bytes) -> httpx.Response:
        header = read_header(content)
        partition = int(request.url.params["partition"])
        records = decode(content)
        txn = request.url.params.get("transaction")
        self._check_open(txn)
        known = self._known(topic, partition, header.producer_id, header.base_sequence, len(records))
        if known is not None:
            return _produced(partition, known, len(records), True)
        base = self._write(topic, partition, txn, records)
        return _produced(partition, base, len(records), False)

    def _produce_json(self, topic: str, body: dict[str, Any]) -> httpx.Response:
        """Due records are visible as the dict that was sent; the others wait, in a transaction from its start on."""
        self.bodies.append(body)
        partition, given = body["partition"], body["records"]
        self._check_open(body.get("transaction"))
        known = self._known(topic, partition, body.get("producer_id", -1), body.get("sequence", -1), len(given))
        if known is not None:
            return _produced(partition, -1, len(given), True)
        due, placed = self.scheduled.place(partition, given)
        results: list[dict[str, Any]] = []
        if due:
            base = self._write(topic, partition, body.get("transaction"), due)
            results.append({"partition": partition, "base_offset": base, "records": len(due)})
        if placed:
            waiting = {"partition": partition, "base_offset": -1, "records": len(placed), "scheduled": placed}
            results.append(waiting)
        return _json({"results": results})

    def _check_open(self, txn: str | None) -> None:
        if txn is not None and self.txns[txn].status != "open":
            raise errors.TransactionEnded()

    def _known(self, topic: str, partition: int, producer_id: int, sequence: int, count: int) -> int | None:
        """The offset of a batch that came before; the sequence is remembered.  Raises SequenceGap."""
        if sequence < 0:
            return None
        window = self.seen.setdefault((topic, partition, producer_id), {})
        if sequence in window:
            return window[sequence]
        if sequence != window.get(-1, 0):
            raise errors.SequenceGap()
        window[sequence] = self.ends.get((topic, partition), 0)
        window[-1] = sequence + count
        return None

    def _write(self, topic: str, partition: int, txn: str | None, records: list[Any]) -> int:
        """The base offset."""
        base = self.ends.get((topic, partition), 0)
        self.ends[topic, partition] = base + len(records)
        self.batches.append((txn, records))
        visible = self.records if txn is None else self.txns[txn].records
        visible.extend((topic, partition, record) for record in records)
        return base

    def _execute(self, body: dict[str, Any]) -> httpx.Response:
        results = []
        for each in body["records"]:
            for partition in dict.fromkeys(record["partition"] for record in each["records"]):
                records = [record for record in each["records"] if record["partition"] == partition]
                base = self._write(each["topic"], partition, None, [_record(record) for record in records])
                result = {"topic": each["topic"], "partition": partition, "base_offset": base, "records": len(records)}
                results.append(result)
        for ack in body["acks"]:
            self._ack(ack["ids"], self.acked)
        return _json({"id": "1-99", "status": "committed", "results": results})

    def _ack(self, ids: list[str], acked: list[str]) -> None:
        for id in ids:
            self.leased.pop(id, None)
        acked.extend(id for id in ids if id not in acked)

    def _end(self, id: str, how: str) -> httpx.Response:
        txn = self.txns.get(id)
        if txn is None:
            raise errors.TransactionNotFound()
        wanted = {"commit": "committed", "abort": "aborted"}[how]
        if txn.status not in ("open", wanted):
            raise errors.AlreadyAborted() if how == "commit" else errors.AlreadyCommitted()
        if txn.status == "open":
            txn.status = wanted
            if how == "commit":
                self.records.extend(txn.records)
                self.acked.extend(txn.acks)
        return _json({"id": id, "status": wanted})

    def _subscription(self, path: str, body: dict[str, Any]) -> httpx.Response:
        if path.endswith(":receive"):
            messages: list[dict[str, Any]] = []
            while self.queue and len(messages) < body["max_records"]:
                message = self.queue.popleft()
                self.leased[message["id"]] = message
                messages.append(message)
            return _json({"messages": messages}, {} if messages else {"idle": "yes"})
        if path.endswith(":ack"):
            txn = body.get("transaction")
            self._ack(body["ids"], self.acked if txn is None else self.txns[txn].acks)
            return _json({"acknowledged": len(body["ids"])})
        if path.endswith(":nack"):
            ids = list(self.leased) if body.get("all") else body["ids"]
            self.queue.extend(self.leased.pop(id) for id in ids if id in self.leased)
            return _json({"redelivering": len(ids)})
        if path.endswith(":extend"):
            ids = list(self.leased) if body.get("all") else body["ids"]
            lost = [id for id in ids if id not in self.leased]
            return _json({"extended": len(ids) - len(lost), "lost": lost})
        return _json({"topic": "orders", "name": "billing", "kind": "shared"})


def hurry(consumer: Any, per_s: float = 1e9) -> None:
    """As if the consumer had handled as many messages in a second, so that it fetches ahead."""
    consumer._prefetching._pace = Pace(per_s, time.monotonic())


def _record(body: dict[str, Any]) -> Any:
    value = body["text"].encode() if "text" in body else None
    return SimpleNamespace(value=b64decode(body["base64"]) if "base64" in body else value, key=body.get("key"))


def _json(body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(200, content=json.dumps(body).encode(), headers=headers)


def _produced(partition: int, base: int, records: int, duplicate: bool) -> httpx.Response:
    return _json(
        {"results": [{"partition": partition, "base_offset": base, "records": records, "duplicate": duplicate}]}
    )


def _problem(error: LedgerError) -> httpx.Response:
    body = {
        "code": error.code,
        "detail": error.detail,
        "title": error.title(),
        "status": error.http_status,
        **error.facts,
    }
    return httpx.Response(error.http_status, content=json.dumps(body).encode())
