"""A task of a compaction that rewrites a segment."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from redis_ledger.errors import OffloadedDamaged
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, read_groups, to_record_batch, to_rows
from redis_ledger.spark.pipelines import compact_spark
from redis_ledger.spark.pipelines.compact_spark import Rewriting


@pytest.fixture
def wanted(tmp_path: Path) -> Rewriting:
    """Ten records to rewrite."""
    with SegmentWriter(open_home(str(tmp_path)), Stretch(0, 10, "old.parquet"), "t-1") as writer:
        writer.add(to_record_batch("t", 0, [Row(n, 1, b"k%d" % (n % 3), b"v" * 200) for n in range(10)]))
        return Rewriting(Stretch(0, 10, "new.parquet"), [writer.finish()])


def test_a_new_segment_has_the_records_that_stay_and_no_other(wanted, tmp_path):
    written = compact_spark.write(str(tmp_path), "t-1", wanted, pa.array([9, 7, 8]))
    home = open_home(str(tmp_path))
    assert [row.offset for batch in read_groups(home, written, 0, 10) for row in to_rows(batch)] == [7, 8, 9]
    assert (written.first, written.end, written.file, written.records) == (0, 10, "new.parquet", 3)


def test_a_new_segment_that_a_disk_has_damaged_is_found_before_anybody_is_told_of_it(wanted, tmp_path, monkeypatch):
    class Damaging(SegmentWriter):
        """Drops a part of the file before it is verified."""

        def finish(self, *, left_out: int = 0) -> Segment:
            written = super().finish(left_out=left_out)
            path = tmp_path / written.file
            content = path.read_bytes()
            at = content.index(b"k1")
            path.write_bytes(content[:at] + b"k2" + content[at + 2 :])
            return written

    monkeypatch.setattr(compact_spark, "SegmentWriter", Damaging)
    with pytest.raises(OffloadedDamaged, match=r"new\.parquet"):
        compact_spark.write(str(tmp_path), "t-1", wanted, pa.array([7, 8, 9]))
