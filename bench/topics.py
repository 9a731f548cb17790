"""Preparation of benches: topics with records, and leased messages."""

from __future__ import annotations

import json
import time

from bench.load import BATCH, Client, request
from redis_ledger.records.build import encode

NOW_MS = time.time_ns() // 1_000_000
PER_BATCH = 1_000
PER_RECEIVE = 1_000
ACK_TIMEOUT_MS = 3_600_000  # longer than any bench


async def produce(client: Client, topic: str, records: int) -> None:
    """Creates a topic of one partition with so many records of 10 bytes, rounded up to whole batches."""
    await client.call("POST", "/v1/topics", {"name": topic, "partitions": 1})
    data = batch(PER_BATCH, 10)
    path = f"/v1/topics/{topic}/records?partition=0"
    await client.each([request("POST", path, data, BATCH)] * -(-records // PER_BATCH))


async def lease(client: Client, topic: str, subscription: str, count: int) -> list[str]:
    """Returns the ids of the first `count` messages, leased by the consumer `default`."""
    await client.call("POST", f"/v1/topics/{topic}/subscriptions", {"name": subscription})
    path = f"/v1/topics/{topic}/subscriptions/{subscription}:receive"
    body = {"max_records": PER_RECEIVE, "ack_timeout_ms": ACK_TIMEOUT_MS}
    answers = await client.each([request("POST", path, body)] * -(-count // PER_RECEIVE))
    offsets = sorted(message["offset"] for answer in answers for message in json.loads(answer)["messages"])
    assert len(offsets) >= count, "the topic has too few messages"
    return [f"0:{offset}" for offset in offsets[:count]]


def batch(records: int, value_bytes: int) -> bytes:
    """Returns an uncompressed record batch with values of letters."""
    value = b"x" * value_bytes
    return encode([(None, value, (), NOW_MS)] * records)
