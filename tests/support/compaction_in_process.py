"""What Spark does for a compaction, done in this process: the same functions of executors, one after the other.

compacting_here.replace(monkeypatch)
compact.Job(client, topic, given, now_ms, progress).compact(None, 0)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from redis_ledger.offload.manifest import Segment
from redis_ledger.spark.pipelines import compact_spark
from redis_ledger.spark.pipelines.compact_spark import Count, Rewriting


class Stays(NamedTuple):
    """In the place of a DataFrame: (first of the segment, offset, has it no key)."""

    rows: list[tuple[int, int, bool]]

    def persist(self) -> Stays:
        return self

    def unpersist(self) -> None:
        pass


def kept(_: Any, home: str, segments: Sequence[Segment], old_ms: int) -> Stays:
    full = [segment for segment in segments if segment.file]
    numbers = pa.RecordBatch.from_arrays([pa.array(range(len(full)))], names=["id"])
    last: dict[tuple[bytes | None, int], int] = {}
    for batch in compact_spark._scan(home, full, old_ms)(iter([numbers])):
        for key, own, rank in zip(*(batch.column(n).to_pylist() for n in ("key", "own", "rank")), strict=True):
            last[key, own] = max(last.get((key, own), -1), rank)
    found = [(rank // 2, key is None) for (key, _), rank in last.items() if rank % 2 == 0]
    return Stays([(next(s.first for s in full if s.first <= at < s.end), at, keyless) for at, keyless in found])


def counts(stays: Stays) -> Mapping[int, Count]:
    of_all = Counter(first for first, _, _ in stays.rows)
    without = Counter(first for first, _, keyless in stays.rows if keyless)
    return {first: Count(count, without[first]) for first, count in of_all.items()}


def rewritten(stays: Stays, home: str, topic_id: str, wanted: Sequence[Rewriting]) -> list[Segment]:
    def offsets(each: Rewriting) -> pa.Array:
        return pa.array([at for _, at, _ in stays.rows if each.stretch.first <= at < each.stretch.end], pa.int64())

    return [compact_spark.write(home, topic_id, each, offsets(each)) for each in wanted]


def replace(monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (kept, counts, rewritten):
        monkeypatch.setattr(compact_spark, step.__name__, step)
