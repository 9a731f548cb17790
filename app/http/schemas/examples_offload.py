"""Examples of the bodies of offloaded records."""

from __future__ import annotations

from typing import Final

from redis_ledger.app.http.schemas.examples import Examples

_TOPIC_ID: Final = "5f0c8a7e1b9d4c3ea2764f80d1e5b92c"
_FOLDER: Final = f"orders/{_TOPIC_ID[:8]}/partition=0/"
_FILES: Final = (
    f"{_FOLDER}00000000000000000000-00000000000000004000-9f1c2b7a5d3e4801.parquet",
    f"{_FOLDER}00000000000000004000-00000000000000009100-c07d11e2a4b6f935.parquet",
)
_SEGMENT: Final = {
    "first": 0, "end": 4_000, "file": _FILES[0], "records": 3_990, "bytes": 81_920, "min_ms": 1_763_720_931_000,
    "max_ms": 1_763_724_531_000, "checksum": "8c1f00d2aa901b47",
}  # fmt: skip
_NEXT: Final = {**_SEGMENT, "first": 4_000, "end": 9_100, "file": _FILES[1], "records": 5_100, "bytes": 104_448}
_PLAN: Final = {"id": "c07d11e2a4b6f935", "stretches": [{"first": 4_000, "end": 9_100, "file": _FILES[1]}]}
_SWAPPED: Final = {**_SEGMENT, "file": _FILES[0].replace("9f1c2b7a5d3e4801", "03bd77e1c2a95f40"), "records": 1_200}

OFFLOADED: Examples = {
    "200": {
        "topic_id": _TOPIC_ID,
        "home": "s3://history/ledger",
        "partitions": [
            {
                "partition": 0, "start_offset": 0, "stable_offset": 12_000, "cold_offset": 4_000, "version": 1,
                "plan": _PLAN, "segments": [_SEGMENT],
            }
        ],
    }
}  # fmt: skip
PLAN: Examples = {"request": {"seal": True, "older_than_ms": 3_600_000}, "200": {"plan": _PLAN}}
PUBLISH: Examples = {
    "request": {"plan": "c07d11e2a4b6f935", "segments": [_NEXT]},
    "200": {"cold_offset": 9_100, "ledgers_dropped": 1, "bytes_dropped": 67_108_864},
}
ABANDON: Examples = {"request": {"plan": "c07d11e2a4b6f935"}, "200": {"files": [_FILES[1]]}}
SWAP: Examples = {
    "request": {"topic_id": _TOPIC_ID, "version": 1, "remove": [0], "add": [_SWAPPED]},
    "200": {"version": 2, "files": [_FILES[0]]},
}
FORGET: Examples = {"request": {}, "200": {"files": [_FILES[0]]}}
