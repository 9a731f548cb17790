"""Clients that send HTTP requests themselves: plain, sequenced and keyed records, transactions, and readers."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from itertools import zip_longest
from typing import Any

import httpx

from redis_ledger.client.trust import public_authorities
from tests.sim.clients.context import INPUT, KEYS, NAMES, PARTITIONS, PLAIN, TXN, Context, Values

TIMEOUT_S = 4.0
ATTEMPTS_MAX = 12
TXN_TIMEOUT_MS = 6_000
ENDED = (
    "transaction_ended",
    "already_aborted",
    "transaction_timed_out",
    "transaction_abort_only",
    "invalid_txn_status",
)


class Refused(Exception):
    """The broker refused the request, and carried out nothing of it.  code: of the problem document."""

    def __init__(self, status: int, body: Any) -> None:
        self.code = body.get("code", "") if isinstance(body, dict) else ""
        self.is_retriable = status >= 500 or self.code in ("request_in_progress", "topic_busy")
        super().__init__(f"{status} {self.code}")


class Unknown(Exception):
    """No answer: the request may have taken effect."""


@contextlib.asynccontextmanager
async def connect() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, verify=public_authorities()) as http:
        yield http


async def call(context: Context, http: httpx.AsyncClient, method: str, path: str, body: Any = None, **more: Any) -> Any:
    """One attempt, at any broker.  Raises Refused or Unknown."""
    try:
        answer = await http.request(method, f"{context.chance.choice(context.urls)}/v1{path}", json=body, **more)
        found = answer.json() if answer.content else {}
    except (httpx.HTTPError, ValueError) as error:
        raise Unknown(f"{type(error).__name__}: {error}") from error
    if answer.status_code >= 400:
        refused = Refused(answer.status_code, found)
        if refused.code in ("outcome_unknown", "internal_error", "store_timeout", "store_unavailable"):
            raise Unknown(str(refused))
        raise refused
    return found


async def repeat(context: Context, http: httpx.AsyncClient, path: str, body: Any, **more: Any) -> Any:
    """Repeats a request that is safe to repeat until a broker answers it.  Raises Refused, or Unknown at the end."""
    last: Exception = Unknown("stopped")
    is_unknown = False
    for _ in range(ATTEMPTS_MAX):
        try:
            return await call(context, http, "POST", path, body, **more)
        except Unknown as error:
            last, is_unknown = error, True
        except Refused as error:
            if not error.is_retriable:
                raise
            last = error
        await context.pause(0.3)
    raise Unknown(str(last)) if is_unknown else last


def _body(some: list[Any], keys: Sequence[str | None] = ()) -> list[dict[str, Any]]:
    """keys: of the records, or none."""
    body = [{"text": value, "partition": partition} for partition, value in some]
    return [each if key is None else each | {"key": key} for each, key in zip_longest(body, keys)]


def _positions(answer: Any, some: list[Any]) -> list[list[Any]]:
    """The records of each result are those of its partition, in order."""
    found: list[list[Any]] = []
    for result in answer["results"]:
        values = [value for partition, value in some if partition == result["partition"]]
        if result["base_offset"] >= 0 and result["records"] == len(values):
            found += [[result["partition"], result["base_offset"] + n, value] for n, value in enumerate(values)]
    return found


async def plain(context: Context) -> None:
    """Sends each request once, with nothing that would make a repetition safe."""
    values = Values(context.name, context.chance)
    async with connect() as http:
        async for _ in context.rounds():
            some = values.some(5)
            op = context.recorder.invoke(
                "send", topic=context.topic(PLAIN), records=some, writer=values.writer, mode="plain"
            )
            try:
                answer = await call(
                    context, http, "POST", f"/topics/{context.topic(PLAIN)}/records", {"records": _body(some)}
                )
            except (Refused, Unknown) as error:
                context.recorder.info("send", op, error)
            else:
                context.recorder.ok("send", op, positions=_positions(answer, some))


async def keyed(context: Context) -> None:
    await _repeat_with_key(context, context.topic(PLAIN))


async def keys(context: Context) -> None:
    """Sends records with few keys and some without."""
    await _repeat_with_key(context, context.topic(KEYS), NAMES)


async def _repeat_with_key(context: Context, topic: str, names: Sequence[str | None] = ()) -> None:
    """Repeats each request with its Idempotency-Key.  names: the keys of records, if they have any.

    Records carry no sequence, so a request that was given up may take effect after later ones: each request is its own
    writer."""
    values = Values(context.name, context.chance)
    async with connect() as http:
        async for number in context.rounds(0.3):
            some = values.some(4)
            chosen = [context.chance.choice(names) for _ in some] if names else []
            facts = {
                "topic": topic,
                "records": some,
                "keys": chosen,
                "writer": f"{values.writer}#{number}",
                "mode": "idempotent",
            }
            op = context.recorder.invoke("send", **facts)
            headers = {"Idempotency-Key": secrets.token_hex(8)}
            try:
                body = {"records": _body(some, chosen)}
                answer = await repeat(context, http, f"/topics/{topic}/records", body, headers=headers)
            except (Refused, Unknown) as error:
                context.recorder.info("send", op, error)
            else:
                context.recorder.ok("send", op, positions=_positions(answer, some))


async def sequenced(context: Context) -> None:
    """Repeats each batch with its producer id and sequence; begins a new producer when it gives up."""
    producer: dict[str, int] = {}
    values, next_sequence, life = Values(context.name, context.chance), [0] * PARTITIONS, 0
    async with connect() as http:
        async for _ in context.rounds():
            if not producer:
                life += 1
                values, next_sequence = Values(f"{context.name}.{life}", context.chance), [0] * PARTITIONS
                with contextlib.suppress(Refused, Unknown):
                    producer = await call(context, http, "POST", "/producers", {})
                continue
            partition = context.chance.randrange(PARTITIONS)
            some = [values.one(partition) for _ in range(context.chance.randint(1, 5))]
            op = context.recorder.invoke(
                "send", topic=context.topic(INPUT), records=some, writer=values.writer, mode="idempotent"
            )
            records = [{"text": value} for _, value in some]
            sequence = {**producer, "sequence": next_sequence[partition]}
            body = {"records": records, "partition": partition, **sequence}
            try:
                answer = await repeat(context, http, f"/topics/{context.topic(INPUT)}/records", body)
            except (Refused, Unknown) as error:
                context.recorder.info("send", op, error)
                producer = {}
            else:
                next_sequence[partition] += len(some)
                context.recorder.ok("send", op, positions=_positions(answer, some))


async def transact(context: Context) -> None:
    """Begins, sends once, and repeats the end.  A second client sometimes ends the transaction the other way."""
    values = Values(context.name, context.chance)
    async with connect() as http:
        async for number in context.rounds():
            name = f"{context.name}#{number}"
            try:
                begun = await call(context, http, "POST", "/transactions", {"timeout_ms": TXN_TIMEOUT_MS})
            except (Refused, Unknown):
                continue
            verdict = context.chance.choices(("commit", "abort", "abandon"), (8, 2, 1))[0]
            for _ in range(context.chance.randint(1, 3)):
                if not await _send(context, http, name, begun["id"], values.some(4)):
                    verdict = "abort"
            if verdict != "abandon":
                await _end(context, http, name, begun["id"], verdict)
                if context.chance.random() < 0.1:
                    await _end(context, http, name, begun["id"], context.chance.choice(("commit", "abort")))


async def _send(context: Context, http: httpx.AsyncClient, name: str, id: str, some: list[Any]) -> bool:
    facts = {"topic": context.topic(TXN), "records": some, "writer": context.name, "mode": "idempotent", "txn": name}
    op = context.recorder.invoke("send", **facts)
    try:
        body = {"records": _body(some), "transaction": id}
        answer = await call(context, http, "POST", f"/topics/{context.topic(TXN)}/records", body)
    except (Refused, Unknown) as error:
        context.recorder.info("send", op, error)
        return False
    context.recorder.ok("send", op, positions=_positions(answer, some))
    return True


async def _end(context: Context, http: httpx.AsyncClient, name: str, id: str, verdict: str) -> None:
    op = context.recorder.invoke("end", txn=name, verdict=verdict)
    try:
        await repeat(context, http, f"/transactions/{id}:{verdict}", {})
    except Refused as error:
        if verdict == "commit" and error.code in ENDED:
            context.recorder.fail("end", op, error, outcome="aborted")
        elif error.code == "already_committed":
            context.recorder.fail("end", op, error, outcome="committed")
        else:
            context.recorder.info("end", op, error)
    except Unknown as error:
        context.recorder.info("end", op, error)
    else:
        context.recorder.ok("end", op, outcome="committed" if verdict == "commit" else "aborted")


async def read(context: Context) -> None:
    """Follows every partition, committed and uncommitted; sometimes reads old records again."""
    next_offset: dict[tuple[str, int, str], int] = {}
    async with connect() as http:
        async for _ in context.rounds(0.05):
            topic, partition = context.chance.choice(context.topics), context.chance.randrange(PARTITIONS)
            isolation = context.chance.choice(("read_committed", "read_uncommitted"))
            at = (topic, partition, isolation)
            first = next_offset.get(at, 0)
            if context.chance.random() < 0.2:
                first = context.chance.randint(0, first)
            with contextlib.suppress(Refused, Unknown):
                answer = await read_page(context, http, topic, partition, first, isolation, context.name)
                next_offset[at] = max(next_offset.get(at, 0), answer["next_offset"])


async def read_page(
    context: Context, http: httpx.AsyncClient, topic: str, partition: int, offset: int, isolation: str, reader: str,
    broker: str = "",
) -> Any:  # fmt: skip
    """Reads once and records it.  broker: its name; else the event has its URL.  Raises Refused or Unknown."""
    context = context._replace(urls=[context.chance.choice(context.urls)])
    broker = broker or context.urls[0]
    facts = {"topic": topic, "partition": partition, "isolation": isolation, "reader": reader, "broker": broker}
    op = context.recorder.invoke("read", **facts)
    where = f"/topics/{topic}/partitions/{partition}/records"
    try:
        params = {"offset": offset, "isolation": isolation, "as": "text"}
        answer = await call(context, http, "GET", where, params=params)
    except (Refused, Unknown) as error:
        context.recorder.info("read", op, error)
        raise
    records = [[partition, each["offset"], each["text"]] for each in answer["records"]]
    offsets = {name: answer[f"{name}_offset"] for name in ("start", "stable", "end")}
    context.recorder.ok("read", op, records=records, **{"from": offset, "next": answer["next_offset"]}, **offsets)
    return answer
