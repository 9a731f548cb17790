"""An existing file is reused if its footer and its rows are valid."""

from __future__ import annotations

import pytest

from redis_ledger.offload.manifest import Stretch
from redis_ledger.offload.resume import find_written
from redis_ledger.offload.segment import Row, SegmentWriter, open_home, to_record_batch

STRETCH = Stretch(0, 1_000, "orders/ab/partition=3/0-1000-p.parquet")
ROWS = [
    Row(10, 1_700_000_000_000, b"k", b"v"),
    Row(11, -1, None, b""),
    Row(400, 1_600_000_000_000, b"\x00", b"x" * 500),
]


@pytest.fixture
def home(tmp_path):
    return open_home(str(tmp_path))


def written(home, rows=ROWS, stretch=STRETCH, group_bytes=300):
    with SegmentWriter(home, stretch, "id-1", group_bytes=group_bytes) as writer:
        for row in rows:
            writer.add(to_record_batch("orders", 3, [row]))
        return writer.finish()


def test_a_written_file_is_found_with_its_segment(home):
    segment = written(home)
    assert (segment.min_ms, segment.max_ms) == (-1, 1_700_000_000_000)
    assert find_written(home, STRETCH, "id-1") == segment


def test_a_missing_file_is_not_found(home):
    assert find_written(home, STRETCH, "id-1") is None


@pytest.mark.parametrize(
    ("stretch", "topic_id"),
    [(Stretch(0, 999, STRETCH.file), "id-1"), (Stretch(1, 1_000, STRETCH.file), "id-1"), (STRETCH, "id-2")],
)
def test_a_file_of_another_stretch_or_topic_is_not_reused(home, stretch, topic_id):
    written(home)
    assert find_written(home, stretch, topic_id) is None


@pytest.mark.parametrize("cut", [0, 4, 200])
def test_a_truncated_file_is_not_reused(home, tmp_path, cut):
    written(home)
    path = tmp_path / STRETCH.file
    path.write_bytes(path.read_bytes()[:cut])
    assert find_written(home, STRETCH, "id-1") is None


def test_a_file_with_a_damaged_row_is_not_reused(home, tmp_path):
    written(home)
    path = tmp_path / STRETCH.file
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    assert find_written(home, STRETCH, "id-1") is None


def test_a_file_with_a_damaged_footer_is_not_reused(home, tmp_path):
    segment = written(home)
    path = tmp_path / STRETCH.file
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(footer, len(content), 7):
        damaged = bytearray(content)
        damaged[at] ^= 0x80
        path.write_bytes(damaged)
        assert find_written(home, STRETCH, "id-1") is None, at
    path.write_bytes(content)
    assert find_written(home, STRETCH, "id-1") == segment


def test_a_foreign_table_is_not_reused(home, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    (tmp_path / STRETCH.file).parent.mkdir(parents=True)
    parquet.write_table(pa.table({"offset": [1, 2]}), tmp_path / STRETCH.file)
    assert find_written(home, STRETCH, "id-1") is None
