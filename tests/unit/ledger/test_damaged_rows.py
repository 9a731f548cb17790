"""Rows of another form than the broker stores are refused with one error."""

from __future__ import annotations

from functools import partial

import pytest

from redis_ledger.cursor import pending_row, unacked
from redis_ledger.errors import StoredDamaged
from redis_ledger.ledger import entries, open_row, sidecar, topic_entry

FIELDS = [b"x"] * entries.FIELDS


@pytest.mark.parametrize(
    ("parse", "row"),
    [
        (open_row.parse_open, b"1 2 3"),
        (open_row.parse_open, b"1 2 3 4 s 1 2 3 4 0"),
        (open_row.parse_open, b"\xff 2 3 4"),
        (sidecar.parse_batch, b"1 2"),
        (sidecar.parse_batch, b"1 x"),
        (topic_entry.parse_topic, b"{}"),
        (topic_entry.parse_topic, b"\xff"),
        (pending_row.group_offset, b"7"),
        (pending_row.group_time_ms, b"7 1 2 x"),
        (partial(unacked.parse, 0, 0), b"1 c 2"),
        (partial(unacked.parse, 0, 0), b"\xff c 2 3"),
        (entries.parse_log, [(b"5-0", FIELDS)]),
        (entries.parse_log, [(b"5-0", FIELDS[:3])]),
        (entries.parse_aborted, [b"1 2", b"3"]),
    ],
)
def test_a_row_of_another_form_is_refused(parse, row):
    with pytest.raises(StoredDamaged, match="is damaged in Redis"):
        parse(row)
