"""Quotas in Kafka's protocol: entities, keys, and errors for unsupported quota types.

    user "ada" → User:ada      user, default → User:*      producer_byte_rate → bytes_in_per_s ...

Quotas apply to users only: clients choose their client ids and addresses.  request_rate counts requests and replaces
request_percentage, a share of processor time; open_transactions is an extension.  Source: KIP-546.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis_ledger.auth.quota import OTHERS
from redis_ledger.errors import InvalidRequest

USER = "user"
KEYS = {
    "producer_byte_rate": "bytes_in_per_s",
    "consumer_byte_rate": "bytes_out_per_s",
    "request_rate": "requests_per_s",
    "open_transactions": "open_transactions",
}


def principal_of(entity: Sequence[Any]) -> str:
    """Raises InvalidRequest."""
    if len(entity) != 1 or entity[0].entity_type != USER:
        raise InvalidRequest("Quotas apply to users: use a single entity of type user.")
    name = entity[0].entity_name
    if name == "":
        raise InvalidRequest("The user name is empty; use null for the default quota.")
    return OTHERS if name is None else f"User:{name}"


def name_of(principal: str) -> str | None:
    """The entity name of a principal."""
    return None if principal == OTHERS else principal.removeprefix("User:")


def parse_operations(operations: Sequence[Any]) -> dict[str, int | None]:
    """Raises InvalidRequest."""
    requested: dict[str, int | None] = {}
    for each in operations:
        name = KEYS.get(each.key)
        if name is None:
            raise InvalidRequest(f"{each.key[:80]!r} is not a supported quota; use one of {', '.join(KEYS)}.")
        if each.remove:
            requested[name] = None
        elif not 0 < each.value < 2**53:  # false for NaN too
            raise InvalidRequest(f"{each.key}={each.value} is invalid; use a number from 1 up, or remove it.")
        else:
            requested[name] = max(int(each.value), 1)
    return requested
