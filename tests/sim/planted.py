"""Bugs that a run plants in its brokers, to show that the rules find them.

    REDIS_LEDGER_SIM_BUG=torn_commit     a broker process starts with this bug (serve.py)

A bug replaces a text in the source of a script before the broker loads it, or a function.  If the text is not there any
more, the broker does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from redis_ledger.store import scripts

VARIABLE = "REDIS_LEDGER_SIM_BUG"


class Bug(NamedTuple):
    """rules: those that find it, at least one in each run."""

    plant: Callable[[], None]
    rules: Sequence[str]


def _in_script(name: str, text: bytes, instead: bytes) -> None:
    files = scripts.read(scripts.folder())
    assert files[name].count(text) == 1, f"the text of the planted bug is not in lua/{name}.lua"
    prepared = scripts.prepare({**files, name: files[name].replace(text, instead)})
    scripts._prepared = lambda: prepared  # type: ignore[assignment]


def _aborted_records_are_read() -> None:
    from redis_ledger.ledger import entries

    entries.is_aborted = lambda *_: False


BUGS = {
    # A batch that an idempotent producer repeats is written again.
    "no_deduplication": Bug(
        partial(_in_script, "include/producers", b"then return { DUPLICATE, batch[3] } end", b"then return nil end"),
        ["record_doubled"],
    ),
    # The commit of a transaction writes an abort marker to some of its partitions.
    "torn_commit": Bug(
        partial(
            _in_script,
            "include/end_transactions",
            b"write_marker(pid, epoch, first, commit) or",
            b"write_marker(pid, epoch, first, commit and tonumber(first) % 5 ~= 0) or",
        ),
        ["transaction_torn", "acknowledged_record_lost"],
    ),
    # Some acknowledgements are answered and not stored.
    "forgotten_ack": Bug(
        partial(
            _in_script,
            "cursor/ack",
            b"\nlocal pending = 0\n",
            b"\nif ranges[1] % 3 == 0 then return { OK, total, c.mark } end\nlocal pending = 0\n",
        ),
        ["redelivered_after_ack"],
    ),
    # New records of a key are delivered although another consumer has earlier ones, or they were returned.
    "key_not_blocked": Bug(
        partial(
            _in_script,
            "cursor/receive_key_shared",
            b"local is_free = q.blocked and not q.is_closed and not q.blocked[key] and",
            b"local is_free = q.blocked and not q.is_closed and",
        ),
        ["key_out_of_order"],
    ),
    "aborted_records_are_read": Bug(_aborted_records_are_read, ["aborted_record_visible"]),
}


def plant(name: str) -> None:
    """Changes this process.  name: one of BUGS; empty for none."""
    if name:
        BUGS[name].plant()
