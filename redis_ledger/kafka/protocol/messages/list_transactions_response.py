"""Made by `make generate` from Apache Kafka's ListTransactionsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_ih = struct.Struct(">ih").pack
_p_q = struct.Struct(">q").pack


class TransactionState(Struct, gc=False):
    """The current state of the transaction for the transactional id."""

    transactional_id: str = ""  # The transactional id.
    producer_id: int = 0  # The producer id.
    transaction_state: str = ""  # The current transaction state of the producer.


class ListTransactionsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The error code, or 0 if there was no error.
    unknown_state_filters: list[str] = []  # Set of state filters provided in the request which were unknown to the transaction coordinator.
    transaction_states: list[TransactionState] = []  # The current state of the transaction for the transactional id.


def encode_0(message: ListTransactionsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 0 to 2."""
    out += _p_ih(message.throttle_time_ms, message.error_code)
    unknown_state_filters = message.unknown_state_filters
    n = len(unknown_state_filters) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in unknown_state_filters:
        data = one.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
    transaction_states = message.transaction_states
    n = len(transaction_states) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in transaction_states:
        transactional_id = one_2.transactional_id
        data = transactional_id.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_q(one_2.producer_id)
        transaction_state = one_2.transaction_state
        data = transaction_state.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[ListTransactionsResponse]] = {
    0: encode_0,
    1: encode_0,
    2: encode_0,
}
