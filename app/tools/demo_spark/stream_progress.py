"""Progress of a stream, read from Spark's checkpoint, so that it is exact even if the driver was killed.

checkpoint/offsets/7    the offsets that batch 7 reads, written before it starts
checkpoint/commits/7    batch 7 is done
"""

from __future__ import annotations

from pathlib import Path

from redis_ledger.spark.checkpoint import parse_offsets

NONE = -1


class StreamProgress:
    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint

    @property
    def batch(self) -> int:
        """The last completed batch."""
        commits = self._checkpoint / "commits"
        return max((int(each.name) for each in commits.glob("*") if each.name.isdigit()), default=NONE)

    @property
    def offsets(self) -> int:
        """The number of processed offsets, over all partitions."""
        batch = self.batch
        if batch == NONE:
            return 0
        return sum(parse_offsets((self._checkpoint / "offsets" / str(batch)).read_text()).values())
