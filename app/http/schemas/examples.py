"""Examples of all bodies in the OpenAPI document; a test decodes each with its model.

The keys are "request", "query", or the status of a response.
"""

from __future__ import annotations

from typing import Any, Final

Examples = dict[str, Any]

_SETTINGS: Final = {
    "retention_ms": 604_800_000, "retention_bytes": -1, "retention_acknowledged": False,
    "batch_bytes_max": 8_388_608, "ledger_bytes_max": 67_108_864, "ledger_age_ms_max": 3_600_000,
    "delayed_delivery_max_delay_ms": 0, "delayed_delivery_tick_time_ms": 2,
}  # fmt: skip
_TOPIC: Final = {
    "name": "orders", "id": "5f0c8a7e1b2d", "partitions": 3, "settings": _SETTINGS, "created_ms": 1_763_720_931_000,
}  # fmt: skip
_PARTITION: Final = {
    "partition": 0, "start_offset": 0, "stable_offset": 18, "end_offset": 20, "leader_epoch": 0, "active_ledger": 1,
    "ledgers": 1, "bytes": 2_048, "open_transactions": 1, "cold_offset": 0,
    "committed_transactions": 4, "aborted_transactions": 1, "scheduled": 0,
}  # fmt: skip
_CURSOR: Final = {
    "partition": 0, "mark_delete": 17, "read": 20, "end": 20, "acked_ahead": 1, "leased": 2, "pending": 0, "backlog": 2,
    "redelivered": 0, "waiting": 0, "backlog_is_exact": True,
}  # fmt: skip
_SUBSCRIPTION: Final = {
    "topic": "orders", "name": "billing", "kind": "shared", "backlog": 2, "backlog_is_exact": True, "delayed": 0,
    "leased": 2, "pending": 0, "waiting": 0,
    "cursors": [_CURSOR],
}  # fmt: skip
_TRANSACTION: Final = {
    "id": "3-3821040230400", "status": "open", "timeout_ms": 60_000, "started_ms": 1_763_720_931_000,
    "deadline_ms": 1_763_720_991_000, "timed_out": False, "owner": "",
    "partitions": [{"topic": "invoices", "partition": 0}],
    "subscriptions": [{"topic": "orders", "partition": 0, "subscription": "billing"}],
}  # fmt: skip
_FRESH: Final = {**_TRANSACTION, "partitions": [], "subscriptions": []}

CREATE_TOPIC: Examples = {"request": {"name": "orders", "partitions": 3}, "201": _TOPIC}
LIST_TOPICS: Examples = {"200": {"topics": [_TOPIC]}}
DESCRIBE_TOPIC: Examples = {
    "query": {"subscriptions": "true"},
    "200": {
        **_TOPIC,
        "partition_states": [_PARTITION],
        "subscriptions": [{"name": "billing", "kind": "shared", "unacknowledged": 2, "pending": 0}],
        "subscriptions_complete": True,
    },
}
CHANGE_TOPIC: Examples = {
    "request": {"partitions": 6, "settings": {"retention_ms": 86_400_000}},
    "200": {**_TOPIC, "partitions": 6, "settings": {**_SETTINGS, "retention_ms": 86_400_000}},
}
PRODUCE: Examples = {
    "request": {
        "records": [
            {"key": "c-1", "value": {"order": 17, "total": 9.5}, "headers": {"source": "shop"}},
            {"key": "c-2", "text": "grüß dich"},
            {"key_base64": "/wA=", "base64": "AAEC", "partition": 1, "timestamp_ms": 1_763_720_931_000},
        ]
    },
    "200": {"results": [{"partition": 0, "base_offset": 18, "records": 2, "duplicate": False}]},
}
FETCH: Examples = {
    "query": {"offset": "17", "isolation": "read_committed", "max_records": "100", "wait_ms": "1000"},
    "200": {
        "records": [
            {
                "offset": 17, "timestamp_ms": 1_763_720_931_000, "key": "c-1", "value": {"order": 17, "total": 9.5},
                "headers": {"source": "shop"}, "transaction": "3-3821040230400",
            }
        ],
        "next_offset": 18, "more": False, "start_offset": 0, "stable_offset": 18, "end_offset": 20,
    },
}  # fmt: skip
WRITE_LARGE: Examples = {
    "query": {"key": "film-7", "headers": '{"type": "video/mp4"}'},
    "200": {"partition": 0, "offset": 18, "bytes": 20_000_000, "chunks": 20},
}
FIND_OFFSET: Examples = {
    "query": {"timestamp_ms": "1763720930000", "isolation": "read_committed"},
    "200": {"offset": 17, "timestamp_ms": 1_763_720_931_000},
}
CREATE_SUBSCRIPTION: Examples = {
    "request": {"name": "billing", "kind": "shared", "start": "earliest"},
    "201": _SUBSCRIPTION,
    "200": _SUBSCRIPTION,
}
LIST_SUBSCRIPTIONS: Examples = {"200": {"subscriptions": [{"name": "billing", "kind": "shared"}]}}
_SHARE: Final = {
    "consumer": "w1", "slots": 256, "unacknowledged": 2, "waiting": 1, "returned": 1,
    "session_ends_ms": 1_763_720_961_000,
}  # fmt: skip
SUBSCRIPTION: Examples = {
    "200": {
        **_SUBSCRIPTION, "kind": "key_shared", "backlog": 3, "waiting": 1,
        "cursors": [{**_CURSOR, "mark_delete": 16, "backlog": 3, "waiting": 1}],
        "consumers": [_SHARE],
    }
}  # fmt: skip
RECEIVE: Examples = {
    "request": {"consumer": "worker-1", "max_records": 100, "wait_ms": 1_000},
    "200": {
        "messages": [
            {
                "id": "0:17", "partition": 0, "offset": 17, "redelivery_count": 0, "timestamp_ms": 1_763_720_931_000,
                "key": "c-1", "value": {"order": 17, "total": 9.5},
            }
        ]
    },
}  # fmt: skip
ACK: Examples = {
    "request": {"consumer": "worker-1", "ids": ["0:17", "0:18"], "transaction": "3-3821040230400"},
    "200": {"acknowledged": 2},
}
ACK_CUMULATIVE: Examples = {"request": {"consumer": "worker-1", "id": "0:18"}, "200": {"acknowledged": 2}}
NACK: Examples = {
    "request": {"consumer": "worker-1", "ids": ["0:17"], "delay_ms": 1_000},
    "200": {"redelivering": 1},
}
EXTEND: Examples = {
    "request": {"consumer": "worker-1", "ids": ["0:17", "0:18"], "ack_timeout_ms": 30_000},
    "200": {"extended": 1, "lost": ["0:18"]},
}
NOTE_OFFSETS: Examples = {
    "request": {"offsets": {"0": 18}, "transaction": "3-3821040230400"},
    "200": {**_SUBSCRIPTION, "kind": "kafka"},
}
SEEK: Examples = {"request": {"offsets": {"0": 5}}, "200": _SUBSCRIPTION}
SET_DEAD_LETTERS: Examples = {
    "request": {"max_deliveries": 5, "topic": "orders.dead"},
    "200": {**_SUBSCRIPTION, "dead_letters": {"max_deliveries": 5, "topic": "orders.dead"}},
}
SET_REDELIVERY: Examples = {
    "request": {"min_ms": 1_000, "factor": 2.0, "max_ms": 60_000},
    "200": {**_SUBSCRIPTION, "redelivery": {"min_ms": 1_000, "factor": 2.0, "max_ms": 60_000}},
}
RECONSUME_LATER: Examples = {
    "request": {"consumer": "worker-1", "ids": ["0:17"], "delay_ms": 60_000, "reason": "the bank does not answer"},
    "200": {"retried": 1, "dead": 0},
}
DEAD_LETTER: Examples = {
    "request": {"consumer": "worker-1", "ids": ["0:17"], "reason": "not an order"},
    "200": {"retried": 0, "dead": 1},
}
PUT_BACK: Examples = {
    "request": {"limit": 100, "reason": "max_attempts", "origin_topic": "orders", "from_ms": 1_763_720_000_000},
    "200": {"put_back": 3},
}
PRODUCER: Examples = {"request": {}, "201": {"producer_id": 1_407_374_883_553_281, "epoch": 0}}
BEGIN: Examples = {
    "request": {"timeout_ms": 60_000, "owner": "worker-1", "together": "nightly"},
    "201": {**_FRESH, "owner": "worker-1"},
}
LIST_TRANSACTIONS: Examples = {
    "query": {
        "status": "open", "min_age_ms": "60000", "limit": "10", "owner": "worker-1", "min_timeout_ms": "30000",
        "coordinator": "3",
    },
    "200": {"transactions": [_TRANSACTION]},
}  # fmt: skip
TRANSACTION: Examples = {
    "200": {
        **_TRANSACTION,
        "steps": [
            {"name": "begin", "at_ms": 1_763_720_931_000},
            {"name": "add_partition", "at_ms": 1_763_720_931_015, "topic": "invoices", "partition": 0},
        ],
        "steps_cut": False,
    }
}
ADD_PARTITIONS: Examples = {
    "request": {"partitions": [{"topic": "invoices", "partition": 0}]},
    "200": {**_TRANSACTION, "subscriptions": []},
}
ADD_SUBSCRIPTIONS: Examples = {
    "request": {"subscriptions": [{"topic": "orders", "subscription": "billing"}]},
    "200": {**_TRANSACTION, "partitions": []},
}
COMMIT: Examples = {"request": {"wait": "all"}, "200": {"id": "3-3821040230400", "status": "committed"}}
ABORT: Examples = {"request": {}, "200": {"id": "3-3821040230400", "status": "aborted"}}
COMMIT_ALL: Examples = {
    "request": {
        "transactions": ["3-3821040230400", "3-3821040230401"],
        "once": {"name": "nightly", "number": 42},
        "wait": "all",
    },
    "200": {"status": "committed", "number": 42},
}
ONCE: Examples = {"query": {"name": "nightly"}, "200": {"name": "nightly", "number": 42}}
EXECUTE: Examples = {
    "request": {
        "acks": [{"topic": "orders", "subscription": "billing", "consumer": "worker-1", "ids": ["0:17"]}],
        "records": [{"topic": "invoices", "records": [{"key": "c-1", "value": {"order": 17, "amount": 9.5}}]}],
    },
    "200": {
        "id": "3-3821040230400",
        "status": "committed",
        "results": [{"topic": "invoices", "partition": 0, "base_offset": 4, "records": 1}],
    },
}
LIVE: Examples = {"200": {"status": "live"}}
READY: Examples = {"200": {"broker": "b1", "coordinators": 16, "durability": "disk"}}
ENTRY: Examples = {
    "200": {"name": "redis-ledger", "version": "0.1.0", "links": {"topics": "/v1/topics", "docs": "/docs"}}
}
