"""What a request costs of its caller's quota, and for how long its connection is not read from then.

Answered at once with throttle_time_ms, and then not read from (KIP-219): a client that keeps to the time loses nothing,
one that does not finds its requests waiting in the network.  Produce costs its frame, Fetch the records it answers.
What opens a connection costs nothing, and is not a way around: another connection of who is over its quota is not read
from either.
"""

from __future__ import annotations

from typing import Any

from redis_ledger.broker.security.quotas import THROTTLE_S_MAX, Quotas
from redis_ledger.kafka.protocol.messages.fetch_response import FetchResponse

PRODUCE = 0
FREE = (17, 18, 36)  # SaslHandshake, ApiVersions, SaslAuthenticate


def charge(quotas: Quotas, principal: str, api_key: int, size: int, answer: Any) -> float:
    """For how many seconds the connection is not to be read from; the answer, if there is one, says so.
    size: of the request's frame."""
    if api_key in FREE:
        wait_s = quotas.wait_s(principal)
    else:
        bytes_out = _records(answer) if isinstance(answer, FetchResponse) else 0
        wait_s = quotas.charge(principal, requests=1, bytes_in=size if api_key == PRODUCE else 0, bytes_out=bytes_out)
    if wait_s <= 0.0:
        return 0.0
    wait_s = min(wait_s, THROTTLE_S_MAX)
    quotas.throttled("kafka", wait_s)
    if hasattr(answer, "throttle_time_ms"):
        answer.throttle_time_ms = max(int(wait_s * 1000), 1)
    return wait_s


def _records(answer: FetchResponse) -> int:
    """Bytes of records in it."""
    parts = (part.records for topic in answer.responses for part in topic.partitions)
    return sum(sum(map(len, part)) if isinstance(part, list) else len(part or b"") for part in parts)
