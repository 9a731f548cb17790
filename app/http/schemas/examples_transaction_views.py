"""Examples of the bodies of schemas/transaction_views."""

from __future__ import annotations

from typing import Final

from redis_ledger.app.http.schemas.examples import Examples

_COORDINATOR: Final = {
    "number": 3, "since_ms": 1_763_720_000_000, "last_serial": 3_821_040_230_401, "low_watermark": 3_821_040_230_399,
    "open": 2, "created": 118, "committed": 112, "aborted": 4, "timed_out": 1, "oldest_age_ms": 4_200, "takeovers": 0,
    "log": {
        "key": "rl:{tc:3}:log", "entries": 2, "entries_written": 240, "first_entry": 238, "last_entry": 240,
        "bytes": 1_184,
    },
}  # fmt: skip

LIST_COORDINATORS: Examples = {
    "query": {"first": "3", "limit": "1"},
    "200": {"count": 16, "coordinators": [_COORDINATOR]},
}
COORDINATOR: Examples = {"200": _COORDINATOR}
RAISE_COORDINATORS: Examples = {"request": {"count": 32}, "200": {"count": 32}}
COORDINATOR_LOG: Examples = {
    "query": {"transaction": "3-3821040230400", "first": "0", "limit": "100"},
    "200": {
        "records": [
            {
                "entry": 238, "index": 0, "size": 2, "live": True, "kind": "new", "transaction": "3-3821040230400",
                "to_status": "open", "timeout_ms": 60_000, "started_ms": 1_763_720_931_000,
                "time_ms": 1_763_720_931_000, "max_serial": 3_821_040_230_400, "owner": "worker-1",
            },
            {
                "entry": 240, "index": 0, "size": 1, "live": True, "kind": "add_partition",
                "transaction": "3-3821040230400", "participants": [{"topic": "invoices", "partition": 0}],
                "time_ms": 1_763_720_931_004, "max_serial": 3_821_040_230_401,
            },
        ],
        "next": None,
    },
}  # fmt: skip
PARTICIPANTS: Examples = {
    "query": {"first": "0", "limit": "100"},
    "200": {
        "id": "3-3821040230400",
        "status": "open",
        "partitions": [
            {
                "topic": "invoices", "partition": 0, "first_offset": 18, "last_offset": 27, "records": 10, "batches": 2,
                "bytes": 912, "marker_offset": None, "marker": None, "cut": False, "gone": False,
            }
        ],
        "subscriptions": [
            {
                "topic": "orders", "partition": 0, "subscription": "billing", "pending": 3,
                "ranges": [{"first": 17, "last": 19}], "cut": False,
            }
        ],
        "next": None,
    },
}  # fmt: skip
WHY: Examples = {
    "200": {
        "topic": "invoices",
        "partitions": [
            {
                "partition": 0, "stable_offset": 18, "end_offset": 40, "held_records": 22,
                "transaction": {
                    "id": "3-3821040230400", "status": "open", "age_ms": 42_000, "timeout_ms": 60_000,
                    "left_ms": 18_000, "owner": "worker-1",
                },
                "waiting": [{"name": "mailer", "kind": "shared"}], "waiting_cut": False,
                "advice": "It is aborted at its deadline, in 18 s. If its producer does not run any more, "
                "`redis-ledger txns abort 3-3821040230400` ends it now.",
            }
        ],
        "cut": False,
    }
}  # fmt: skip
