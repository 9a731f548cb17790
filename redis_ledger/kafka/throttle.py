"""Charges requests to the caller's quota and returns the throttle time.

The response is sent immediately with throttle_time_ms; then the connection is not read for that time (KIP-219).
Produce costs the size of its frame, Fetch the size of the returned records.  Requests that open a connection are free,
but a new connection of a throttled principal is not read either.
"""

from __future__ import annotations

from typing import Any

from redis_ledger.broker.security.quotas import THROTTLE_S_MAX, Quotas
from redis_ledger.kafka.protocol.messages.fetch_response import FetchResponse

PRODUCE = 0
FREE = (17, 18, 36)  # SaslHandshake, ApiVersions, SaslAuthenticate


def charge(quotas: Quotas, principal: str, api_key: int, size: int, answer: Any) -> float:
    """Returns the throttle time in seconds and sets it in the response, if there is one.

    size: of the request's frame
    """
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
    """The size of the records in a Fetch response."""
    parts = (part.records for topic in answer.responses for part in topic.partitions)
    return sum(sum(map(len, part)) if isinstance(part, list) else len(part or b"") for part in parts)
