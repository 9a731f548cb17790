"""Examples of the bodies that show what transactions and subscriptions hold."""

from __future__ import annotations

from typing import Final

from redis_ledger.app.http.schemas.examples import Examples

_TXN: Final = "3-3821040230400"
_OPEN: Final = {
    "transaction": _TXN, "producer_id": 848_245_971_161_088, "first_offset": 18, "started_ms": 1_795_392_753_600,
    "buffer": "marker",
}  # fmt: skip
_WATERMARKS: Final = [{"coordinator": 3, "serial": 3_821_040_230_399}]

PARTITION_TRANSACTIONS: Examples = {
    "query": {"limit": "100", "open_from": "0", "aborted_from": "0", "low_watermarks": "true"},
    "200": {
        "topic": "orders", "partition": 0, "start_offset": 0, "stable_offset": 18, "end_offset": 20,
        "held_by": _OPEN, "open_transactions": 1, "open": [_OPEN], "committed_transactions": 4,
        "aborted_transactions": 1, "aborted_set": 1,
        "aborted": [{"producer_id": 848_245_971_161_000, "first_offset": 7, "last_offset": 9}], "tombstones": 2,
        "snapshot": {"taken_ms": 1_763_720_931_000, "position": 16}, "low_watermarks": _WATERMARKS,
    },
}  # fmt: skip
PARTITION_TRANSACTION: Examples = {
    "200": {
        "topic": "orders", "partition": 0, "transaction": _TXN, "state": "open", "first_offset": 18, "aborted": False,
    },
}  # fmt: skip
PENDING: Examples = {
    "query": {"partition": "0", "transaction": _TXN, "max_ranges": "100", "low_watermarks": "true"},
    "200": {
        "topic": "orders", "name": "billing", "kind": "shared",
        "partitions": [
            {
                "partition": 0, "mark_delete": 12, "records": 3,
                "transactions": [
                    {
                        "transaction": _TXN, "records": 3,
                        "ranges": [{"first": 12, "last": 13}, {"first": 17, "last": 17}], "more_ranges": False,
                        "since_ms": 1_763_720_931_000, "producer_id": 211106232532992, "transactional_id": "nightly",
                    }
                ],
                "complete": True, "low_watermarks": _WATERMARKS,
            }
        ],
    },
}  # fmt: skip
RECORD_STATE: Examples = {
    "query": {"batch_index": "2"},
    "200": {
        "topic": "orders", "name": "billing", "id": "0:17", "state": "pending_ack", "transaction": _TXN,
        "batch_base_offset": 15, "batch_records": 3, "mark_delete": 12, "stable_offset": 18, "end_offset": 20,
    },
}  # fmt: skip
BACKLOG: Examples = {
    "query": {"from_offset": "0", "max_entries": "10000"},
    "200": {
        "topic": "orders", "name": "billing", "kind": "shared", "partition": 0, "mark_delete": 12, "stable_offset": 18,
        "end_offset": 20, "from_offset": 12, "complete": True, "entries": 4, "batches": 2, "records": 4,
        "acknowledged": 0, "markers": 1, "aborted_batches": 1, "aborted_records": 1, "undecided": 2, "scheduled": 0,
    },
}  # fmt: skip

_BEHIND = {"lag": 2, "lag_is_exact": True}

LAG: Examples = {
    "query": {"from_partition": "0"},
    "200": {
        "topic": "orders", "name": "billing", "kind": "shared", **_BEHIND, "bytes": 220,
        "partitions": [
            {
                "partition": 0, "position": 18, "stable_offset": 20, "end_offset": 24, **_BEHIND, "leased": 2,
                "pending": 0, "undecided": 4, "redelivered": 0, "bytes": 220, "oldest_ms": 1_763_720_931_000,
            }
        ],
        "oldest_ms": 1_763_720_931_000,
    },
}  # fmt: skip
LAGS: Examples = {
    "query": {"topic": "orders", "name": "billing", "limit": "100", "after": "orders/archive"},
    "200": {
        "lags": [{"topic": "orders", "name": "billing", "kind": "shared", **_BEHIND}], "next": "orders/billing",
    },
}  # fmt: skip
SNAPSHOT: Examples = {
    "200": {
        "version": 1, "topic": "orders", "topic_id": "5f0c8a7e1b2d", "subscription": "billing", "kind": "shared",
        "taken_ms": 1_763_720_931_000,
        "partitions": [{"partition": 0, "mark_delete": 17, "acknowledged": "AQMBAQ=="}],
    },
}  # fmt: skip
