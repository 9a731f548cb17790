"""Examples of the bodies of scheduled records."""

from __future__ import annotations

from typing import Final

from redis_ledger.app.http.schemas.examples import Examples

_PLACED: Final = {"id": "0:17.0", "deliver_at_ms": 1_801_386_000_000}
_RECORD: Final = {
    **_PLACED, "timestamp_ms": 1_795_941_000_000, "key": "c-1", "value": {"remind": 17}, "repeat": "0 9 * * MON",
    "times_left": 3,
}  # fmt: skip
_COUNTS: Final = {
    "records": 2, "entries": 2, "buckets": 1, "loaded": 2, "held": 0, "overdue": 0, "first_due_ms": 1_801_386_000_000,
    "last_due_ms": 1_801_472_400_000, "snapshot_bytes": 0, "payload_bytes": 230,
}  # fmt: skip

SCHEDULE: Examples = {
    "request": {
        "records": [
            {"key": "c-1", "value": {"remind": 17}, "deliver_at": "2027-01-31T09:00:00Z"},
            {"key": "c-1", "value": {"remind": 18}, "deliver_after": "PT5S"},
        ]
    },
    "201": {"scheduled": [_PLACED, {"id": "0:18.0", "deliver_at_ms": 1_795_941_005_000}]},
}
LIST_SCHEDULED: Examples = {
    "query": {"from": "1795941000000", "to": "2027-02-01T00:00:00Z", "key": "c-1", "limit": "100"},
    "200": {"scheduled": [_RECORD]},
}
GET_SCHEDULED: Examples = {"200": _RECORD}
CANCEL_SCHEDULED: Examples = {
    "request": {"ids": ["0:17.0", "0:2.0"]},
    "200": {
        "results": [{"id": "0:17.0", "outcome": "cancelled"}, {"id": "0:2.0", "outcome": "already_delivered"}],
    },
}
RESCHEDULE: Examples = {"request": {"deliver_after": 60_000}, "200": {**_PLACED, "deliver_at_ms": 1_795_941_060_000}}
CLEAR_SCHEDULED: Examples = {"query": {"partition": "0"}, "200": {"cancelled": 2}}
DELAY_STATS: Examples = {"200": {"partitions": [{"partition": 0, **_COUNTS}], "total": _COUNTS}}
DELAY_HISTOGRAM: Examples = {
    "query": {"from": "2027-01-31T00:00:00Z", "to": "2027-02-02T00:00:00Z", "bins": "2"},
    "200": {
        "bins": [
            {"from_ms": 1_801_353_600_000, "to_ms": 1_801_440_000_000, "records": 1},
            {"from_ms": 1_801_440_000_000, "to_ms": 1_801_526_400_000, "records": 1},
        ]
    },
}
REBUILD: Examples = {"request": {"partition": 0}, "200": {"entries": 2}}
