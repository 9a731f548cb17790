"""What does a record cost before it reaches Redis?

    encode   records to a batch, CRC included          check    a client's batch: header, CRC
    decode   a batch to records                        both sizes in batches of 100 records

It shows how much of the benches above is the format: at 100 bytes a record the calls dominate, at 1 KiB the CRC and the
copies.  Nothing is stored, so the durability is `none`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bench.lab import Lab, Metrics
from bench.processes import Cpu
from bench.topics import NOW_MS, batch
from redis_ledger.records.batch import check, split
from redis_ledger.records.build import encode
from redis_ledger.records.read import decode

RECORDS = 100
SIZES = {"100x100B": 100, "100x1KiB": 1024}
BATCH_BYTES_MAX = 8 << 20


async def measure(lab: Lab) -> None:
    cpu = Cpu(None, None)
    for case, value_bytes in SIZES.items():
        rows = [(None, b"x" * value_bytes, (), NOW_MS)] * RECORDS
        data = batch(RECORDS, value_bytes)
        work: dict[str, Callable[[], object]] = {
            "encode": partial(encode, rows),
            "decode": partial(decode, data),
            "check": partial(checked, data),
        }
        for name, once in work.items():
            measured = await lab.medians(cpu, partial(rate, once))
            lab.note(case, f"{name}_records_per_s", measured["rate"], "records/s", "none")


def checked(data: bytes) -> None:
    for header, view in split(data):
        check(header, view, batch_bytes_max=BATCH_BYTES_MAX)


async def rate(once: Callable[[], object], seconds: float) -> Metrics:
    batches = 0
    began_s = now_s = time.perf_counter()
    while now_s < began_s + seconds / 3:  # only this process takes part, so less time is enough
        for _ in range(10):
            once()
        batches += 10
        now_s = time.perf_counter()
    return {"rate": batches * RECORDS / (now_s - began_s)}
