"""What the principals of the security matrix do over REST.  Each returns the answer that ends it: the first refusal, or
the last one; what looks for something returns whether it is shown.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.support.principals import ROOT
from tests.support.security_matrix import Body, Ground

ONE = "/v1/topics/orders"
SUB = f"{ONE}/subscriptions/g-rest"
NOTE = f"{ONE}/subscriptions/g-note"
OFFLOAD = f"{ONE}/partitions/0/cold"
RECORDS = {"records": [{"value": 2}]}
ACK = {"consumer": "c", "ids": ["0:0"]}
RULE = {"principal": "User:made", "operation": "READ", "resource": "TOPIC", "name": "orders"}
Step = tuple[str, str, Body | None]
Way = Callable[[Ground], Awaitable[httpx.Response | bool]]


def calls(method: str, path: str, body: Body | None = None) -> Way:
    async def way(g: Ground) -> httpx.Response:
        return await g.rest(method, path, body)

    return way


async def _in_turn(g: Ground, first: Step, *others: Step) -> httpx.Response:
    """Ends with the first step that fails."""
    answer = await g.rest(*first)
    for step in others:
        if answer.status_code < 400:
            answer = await g.rest(*step)
    return answer


async def _begun(g: Ground, user: str) -> Any:
    """The id of a transaction, or the refusal."""
    answer = await g.rest("POST", "/v1/transactions", {}, user)
    return answer.json()["id"] if answer.status_code == 201 else answer


async def sends_dead_letters(g: Ground) -> httpx.Response:
    """To a topic that is there: making it is another right."""
    await g.rest("POST", "/v1/topics", {"name": "ord.dead"}, ROOT)
    return await g.rest("POST", f"{SUB}:deadLetters", {"max_deliveries": 3, "topic": "ord.dead"})


async def reconsumes_later(g: Ground) -> httpx.Response:
    """By a rule that another user has set."""
    await g.rest("POST", f"{SUB}:deadLetters", {"max_deliveries": 3, "topic": "dead", "retry_topic": "retry"}, ROOT)
    return await g.rest("POST", f"{SUB}:reconsumeLater", {"consumer": "c", "ids": ["0:0"], "delay_ms": 5})


async def sends_dead_letter(g: Ground) -> httpx.Response:
    await g.rest("POST", f"{SUB}:deadLetters", {"max_deliveries": 3, "topic": "dead"}, ROOT)
    return await g.rest("POST", f"{SUB}:deadLetter", {"consumer": "c", "ids": ["0:0"]})


async def reads_large_message(g: Ground) -> httpx.Response:
    written = await g.rest("POST", f"{ONE}/largeMessages", RECORDS, ROOT)
    return await g.rest("GET", f"{ONE}/partitions/0/largeMessages/{written.json()['offset']}")


async def writes_in_its_transaction(g: Ground) -> httpx.Response:
    txn = await _begun(g, g.user)
    if isinstance(txn, httpx.Response):
        return txn
    answer = await _in_turn(
        g,
        ("POST", f"/v1/transactions/{txn}/partitions", {"partitions": [{"topic": "orders", "partition": 0}]}),
        ("POST", f"{ONE}/records", {**RECORDS, "transaction": txn}),
        ("GET", f"/v1/transactions/{txn}", None),
        ("POST", f"/v1/transactions/{txn}:commit", {}),
    )
    await g.rest("POST", f"/v1/transactions/{txn}:abort", {})
    return answer


async def commits_offsets_in_its_transaction(g: Ground) -> httpx.Response:
    txn = await _begun(g, g.user)
    if isinstance(txn, httpx.Response):
        return txn
    subscriptions = [{"topic": "orders", "subscription": "g-rest"}]
    answer = await _in_turn(
        g,
        ("POST", f"/v1/transactions/{txn}/subscriptions", {"subscriptions": subscriptions}),
        ("POST", f"{SUB}:ack", {**ACK, "transaction": txn}),
        ("POST", f"{NOTE}:noteOffsets", {"offsets": {"0": 1}, "transaction": txn}),
        ("POST", f"/v1/transactions/{txn}:commit", {}),
    )
    await g.rest("POST", f"/v1/transactions/{txn}:abort", {})
    return answer


def with_another_s(method: str, path: str, body: Body | None = None) -> Way:
    """path, body: with TXN where the id of root's open transaction belongs."""

    async def way(g: Ground) -> httpx.Response:
        txn = await _begun(g, ROOT)
        body_sent = {key: txn if value == "TXN" else value for key, value in (body or {}).items()}
        if "transactions" in body_sent:
            body_sent["transactions"] = [txn]
        answer = await g.rest(method, path.replace("TXN", txn), body_sent if method == "POST" else None)
        await g.rest("POST", f"/v1/transactions/{txn}:abort", {}, ROOT)
        return answer

    return way


async def is_shown_another_s(g: Ground) -> bool:
    txn = await _begun(g, ROOT)
    found = (await g.rest("GET", "/v1/transactions")).json()["transactions"]
    await g.rest("POST", f"/v1/transactions/{txn}:abort", {}, ROOT)
    return txn in [each["id"] for each in found]


async def commits_together(g: Ground) -> httpx.Response:
    return await g.rest(
        "POST", "/v1/transactions:commitAll", {"transactions": [], "once": {"name": f"tx-{g.user}", "number": 1}}
    )


async def asks_for_number(g: Ground) -> httpx.Response:
    assert (await g.rest("POST", "/v1/transactions:commitAll", {
        "transactions": [], "once": {"name": f"tx-{g.user}", "number": 1}
    }, ROOT)).status_code == 200  # fmt: skip
    return await g.rest("GET", f"/v1/transactions:once?name=tx-{g.user}")


async def is_shown_topic(g: Ground) -> bool:
    return "orders" in [each["name"] for each in (await g.rest("GET", "/v1/topics")).json()["topics"]]


async def is_shown_group(g: Ground) -> bool:
    """To who may not even describe the topic there is nothing to be shown."""
    answer = await g.rest("GET", f"{ONE}/subscriptions")
    if answer.status_code == 403:
        return False
    return "g-rest" in [each["name"] for each in answer.json()["subscriptions"]]


async def is_shown_lag(g: Ground) -> bool:
    answer = await g.rest("GET", "/v1/lags?name=g-rest")
    return answer.status_code == 200 and [each["topic"] for each in answer.json()["lags"]] == ["orders"]


async def is_shown_tokens_of_others(g: Ground) -> bool:
    await g.world.token(ROOT)
    found = (await g.rest("GET", "/v1/tokens")).json()["tokens"]
    return "User:root" in [each["principal"] for each in found]


async def revokes_token(g: Ground) -> httpx.Response:
    id, _ = await g.broker.security.create_token("User:made")
    return await g.rest("DELETE", f"/v1/tokens/{id}")


async def revokes_its_own_token(g: Ground) -> httpx.Response:
    id, _ = await g.broker.security.create_token(f"User:{g.user}")
    return await g.rest("DELETE", f"/v1/tokens/{id}")
