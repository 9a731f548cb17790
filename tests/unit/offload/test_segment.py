"""Segment files: rows are read as written, no partial files remain, and damage is detected."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from redis_ledger.errors import InvalidRequest, OffloadedDamaged, OffloadedUnavailable
from redis_ledger.offload import object_store as homes
from redis_ledger.offload.checksum import checksum, combine, to_hex
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.segment import (
    SCHEMA,
    Row,
    SegmentFile,
    SegmentWriter,
    check_file,
    open_home,
    read_groups,
    to_record_batch,
    to_rows,
)

FILE = "orders/ab/partition=3/0-1000-p.parquet"
ROWS = [
    Row(10, 1_700_000_000_000, b"k", b"v", [("a", b"1"), ("b", None)], 0, 7, 2, "3-17"),
    Row(11, 1_700_000_000_001, None, b"", []),
    Row(13, -1, b"", None, [("", b"")], 1),
    Row(400, 1_600_000_000_000, b"\x00\xff", b"x" * 5_000, [("a", b""), ("a", b"2")]),
]


def write(home, rows, *, first=0, end=1_000, file=FILE, group_bytes=8 << 20, step=2):
    batch = to_record_batch("orders", 3, rows)
    with SegmentWriter(home, Stretch(first, end, file), "topic-id", group_bytes=group_bytes) as writer:
        for at in range(0, len(rows), step):
            writer.add(batch.slice(at, step))
        return writer.finish()


def read(home, segment, first=0, end=1_000):
    return [row for batch in read_groups(home, segment, first, end) for row in to_rows(batch)]


@pytest.fixture
def home(tmp_path):
    return open_home(str(tmp_path / "offload"))


def test_rows_are_read_as_written(home):
    segment = write(home, ROWS)
    assert read(home, segment) == ROWS
    assert (segment.first, segment.end, segment.records) == (0, 1_000, 4)
    assert (segment.min_ms, segment.max_ms) == (-1, 1_700_000_000_001)
    assert segment.bytes == home.size(FILE) > 0


def test_a_stretch_without_rows_has_no_file(home):
    segment = write(home, [])
    assert segment == Segment(0, 1_000, "", 0, 0, -1, -1, "0" * 16)
    assert read(home, segment) == []
    assert not home.exists(FILE)


def test_the_file_has_identifying_metadata(home):
    segment = write(home, ROWS)
    output = parquet.read_metadata(home.path(FILE)).metadata
    assert {
        name.decode(): value.decode()
        for name, value in output.items()
        if name.startswith(b"redis_ledger.") and name != b"redis_ledger.footer"
    } == {
        "redis_ledger.format": "1",
        "redis_ledger.topic_id": "topic-id",
        "redis_ledger.first": "0",
        "redis_ledger.end": "1000",
        "redis_ledger.checksum": segment.checksum,
    }


def test_duckdb_and_pyarrow_read_a_plain_table(home):
    write(home, ROWS)
    found = (
        duckdb.connect()
        .execute(
            'SELECT topic, partition, "offset", epoch_ms(timestamp), key, value, headers, transaction'
            f" FROM '{home.path(FILE)}' ORDER BY 3"
        )
        .fetchall()
    )
    assert found[0] == (
        "orders", 3, 10, 1_700_000_000_000, b"k", b"v", [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
        "3-17",
    )  # fmt: skip
    assert [row[5] for row in found] == [row.value for row in ROWS]
    table = parquet.read_table(home.path(FILE))
    assert table.schema.equals(SCHEMA)
    assert table.column("offset").to_pylist() == [10, 11, 13, 400]


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_a_range_of_offsets_is_read_from_its_row_groups(home, cut):
    rows = [Row(2 * i, i, b"%d" % i, b"v" * 100, [("h", b"%d" % i)] if i % 3 else []) for i in range(400)]
    segment = write(home, rows, group_bytes=cut * 130, step=37)
    file = SegmentFile(home, segment)
    file.close()
    assert len(file.groups) > 2
    for first, end in ((0, 1_000), (0, 1), (1, 2), (11, 500), (797, 1_000), (799, 1_000), (250, 252)):
        assert read(home, segment, first, end) == [row for row in rows if first <= row.offset < end]
    some = list(read_groups(home, segment, 5, 15, ["value"]))
    assert [batch.schema.names for batch in some] == [["value"]] * len(some)
    assert sum(batch.num_rows for batch in some) == 5


def test_the_checksum_is_independent_of_order_and_cuts():
    whole = to_record_batch("orders", 3, ROWS)
    shuffled = whole.take(pa.array([2, 0, 3, 1]))
    assert checksum(whole) == checksum(shuffled) == combine(checksum(whole.slice(i, 1)) for i in range(4))
    assert checksum(whole.slice(0, 0)) == 0


def test_the_checksum_depends_on_every_field():
    base = ROWS[0]
    others = [
        base._replace(offset=11), base._replace(key=None), base._replace(key=b""), base._replace(key=b"kv", value=b""),
        base._replace(value=None), base._replace(value=b"w"), base._replace(headers=[]),
        base._replace(headers=[("a", b"1")]), base._replace(headers=[("a", b"1"), ("b", b"")]),
        base._replace(headers=[("b", None), ("a", b"1")]),
    ]  # fmt: skip
    sums = [checksum(to_record_batch("orders", 3, [row])) for row in [base, *others]]
    sums.append(checksum(to_record_batch("orders", 4, [base])))
    assert len(set(sums)) == len(sums)
    # Swapping two values changes the checksum.
    swapped = [ROWS[0]._replace(value=b"w"), ROWS[1]._replace(value=b"v")]
    straight = [ROWS[0], ROWS[1]._replace(value=b"w")]
    assert checksum(to_record_batch("orders", 3, swapped)) != checksum(to_record_batch("orders", 3, straight))


def test_rows_in_other_types_are_cast():
    plain = to_record_batch("orders", 3, ROWS).to_pylist()
    schema = pa.schema([field if field.name != "topic" else pa.field("topic", pa.string()) for field in SCHEMA])
    schema = schema.set(3, pa.field("timestamp", pa.timestamp("us", "Europe/Berlin")))
    batch = pa.RecordBatch.from_pylist(plain, schema=schema)
    home = open_home("/")

    class Kept(SegmentWriter):
        def _write_group(self):
            pass

    with Kept(home, Stretch(0, 1_000, FILE), "topic-id") as writer:
        writer.add(batch)
        assert to_rows(writer._held[0]) == ROWS


@pytest.mark.parametrize(
    "offsets", [[5, 5], [6, 5], [1_000], [-1]], ids=["twice", "descending", "behind the end", "before the first"]
)
def test_rows_outside_the_stretch_are_refused_and_leave_no_file(home, offsets):
    with pytest.raises(ValueError, match="ascending order within the stretch"):
        write(home, [Row(offset, 1, None, b"v") for offset in offsets])
    assert not list(Path(home.base).rglob("*")) or not [p for p in Path(home.base).rglob("*") if p.is_file()]


def test_descending_batches_are_refused(home):
    with pytest.raises(ValueError, match="do not follow 6"):
        write(home, [Row(5, 1, None, b"v"), Row(6, 1, None, b"v"), Row(6, 1, None, b"v")])


def files_below(home):
    return [path.name for path in Path(home.base).rglob("*") if path.is_file()]


def test_a_failed_writer_leaves_no_file(home):
    batch = to_record_batch("orders", 3, ROWS)

    def fail_half_way():
        with SegmentWriter(home, Stretch(0, 1_000, FILE), "t", group_bytes=1) as writer:
            writer.add(batch)
            assert files_below(home)[0].startswith("_tmp-")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert files_below(home) == []
    with SegmentWriter(home, Stretch(0, 1_000, FILE), "t", group_bytes=1) as writer:
        writer.add(batch)  # and finish is not called
    assert files_below(home) == []


def test_a_process_killed_between_writing_and_moving_leaves_no_parquet_file(home):
    program = f"""
import os
from redis_ledger.offload import object_store as homes
from redis_ledger.offload.manifest import Stretch
from redis_ledger.offload.segment import Row, SegmentWriter, to_record_batch
homes._sync = lambda path: os._exit(9)
with SegmentWriter(homes.open_home({home.base!r}), Stretch(0, 1000, {FILE!r}), "t") as writer:
    writer.add(to_record_batch("orders", 3, [Row(1, 1, None, b"v")]))
    writer.finish()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    (left,) = files_below(home)
    assert left.startswith("_tmp-")
    assert not left.endswith(".parquet")
    # And the next attempt can write the stretch.
    assert read(home, write(home, ROWS)) == ROWS


def test_new_folders_are_synced_with_a_file(home, monkeypatch):
    synced: list[str] = []
    monkeypatch.setattr(homes, "_sync", synced.append)
    write(home, ROWS)
    unfinished, *folders = synced
    assert "/_tmp-" in unfinished
    assert [each.removeprefix(home.base) for each in folders] == ["/orders/ab/partition=3", "/orders/ab", "/orders", ""]


def test_a_missing_file_is_unavailable_and_not_empty(home):
    segment = write(home, ROWS)
    home.delete(FILE)
    home.delete(FILE)  # the second deletion does nothing
    with pytest.raises(OffloadedUnavailable, match="mounted"):
        read(home, segment)


def test_a_damaged_byte_anywhere_is_detected_or_harmless(home):
    rows = [Row(i, i, b"k%d" % i, random.Random(i).randbytes(50), []) for i in range(500)]
    segment = write(home, rows)
    whole = Path(home.path(FILE)).read_bytes()
    step = len(whole) // 150
    output = 0
    for at in range(0, len(whole), step):
        broken = bytearray(whole)
        broken[at] ^= 0x55
        Path(home.path(FILE)).write_bytes(broken)
        try:
            found = read(home, segment)
        except (OffloadedDamaged, OffloadedUnavailable):
            output += 1
        else:
            assert found == rows
    assert output > 100


@pytest.mark.parametrize("left", [0, 3, 100, -1])
def test_a_truncated_file_is_damaged(home, left):
    segment = write(home, ROWS)
    path = Path(home.path(FILE))
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(OffloadedDamaged):
        read(home, segment)


def test_a_file_of_another_stretch_is_refused(home):
    segment = write(home, ROWS)
    write(home, ROWS[:2])
    with pytest.raises(OffloadedDamaged, match="the manifest entry has"):
        read(home, segment)


def test_check_file_compares_with_the_manifest_entry(home):
    segment = write(home, ROWS)
    check_file(home, segment)
    # A file whose rows do not match its footer.
    table = parquet.read_table(home.path(FILE))
    changed = table.set_column(6, table.schema.field("value"), pa.array([b"v", b"", b"?", b"x"], pa.binary()))
    parquet.write_table(changed, home.path(FILE), write_statistics=True)
    with pytest.raises(OffloadedDamaged):
        check_file(home, segment)


def test_the_checksum_has_16_hexadecimal_digits():
    assert to_hex(combine([(1 << 64) - 1, 17])) == "0000000000000010"


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up", "a/../../b", "a//b", "a\0b", "a/" + "b" * 256])
def test_names_outside_the_object_store_are_refused(home, name):
    with pytest.raises(InvalidRequest):
        home.path(name)


@pytest.mark.parametrize("uri", ["", "relative/path", "nowhere://x/y"])
def test_an_object_store_that_cannot_be_opened_is_refused(uri):
    with pytest.raises(InvalidRequest, match="offload_home"):
        open_home(uri)


def test_an_object_store_is_a_path_or_a_uri(tmp_path):
    assert open_home(f"file://{tmp_path}").path("a") == open_home(str(tmp_path)).path("a") == f"{tmp_path}/a"
    home = open_home(str(tmp_path))
    home.put("notes/a.txt", b"hello")
    assert (tmp_path / "notes" / "a.txt").read_bytes() == b"hello"
    assert home.exists("notes/a.txt")
    assert home.exists()
    assert home.size("nowhere") == -1
