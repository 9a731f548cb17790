"""Reuses a file that an interrupted run of the same plan has written.

The file's footer identifies the stretch and has all values of the manifest entry; `segment.check_file` checks the rows.
"""

from __future__ import annotations

from typing import Any

from redis_ledger.errors import OffloadedDamaged, OffloadedUnavailable
from redis_ledger.offload.manifest import Segment, Stretch
from redis_ledger.offload.object_store import ObjectStore
from redis_ledger.offload.segment import FORMAT, LEFT_OUT, check_file

import pyarrow as pa  # isort: skip  # after segment, whose import error names the package to install
from redis_ledger.offload.footer import key_value_metadata, read_footer  # isort: skip

_TIMESTAMP = "timestamp"


def find_written(home: ObjectStore, stretch: Stretch, topic_id: str, *, is_complete: bool = False) -> Segment | None:
    """Returns the segment if its file is there and intact, else None.

    is_complete  only if the file leaves out no batch
    Cost: reads the whole file once.
    """
    try:
        size = home.size(stretch.file)
        segment = _from_footer(home, stretch, topic_id, size, is_complete) if size >= 0 else None
        if segment is not None:
            check_file(home, segment)
    except (OffloadedDamaged, OffloadedUnavailable, pa.ArrowException, OSError):
        return None
    return segment


def _from_footer(home: ObjectStore, stretch: Stretch, topic_id: str, size: int, is_complete: bool) -> Segment | None:
    """Returns the segment that the footer describes; None if it is another one."""
    with home.fs.open_input_file(home.path(stretch.file)) as source:
        footer = read_footer(source)
    facts = key_value_metadata(footer)
    wanted = {"format": FORMAT, "topic_id": topic_id, "first": str(stretch.first), "end": str(stretch.end)}
    if is_complete and LEFT_OUT in facts:
        return None
    if any(facts.get(name) != value for name, value in wanted.items()):
        return None
    times = [_times(footer.row_group(number)) for number in range(footer.num_row_groups)]
    least, most = min(low for low, _ in times), max(high for _, high in times)
    return Segment(stretch.first, stretch.end, stretch.file, footer.num_rows, size, least, most, facts["checksum"])


def _times(group: Any) -> tuple[int, int]:
    at = next(n for n in range(group.num_columns) if group.column(n).path_in_schema == _TIMESTAMP)
    statistics = group.column(at).statistics
    return statistics.min_raw, statistics.max_raw
