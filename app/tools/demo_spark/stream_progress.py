"""How far a stream is, from what Spark writes down: exact, whatever happened to the driver that did it.

checkpoint/offsets/7    what batch 7 reads, written before it begins
checkpoint/commits/7    batch 7 is done
"""

from __future__ import annotations

from pathlib import Path

from redis_ledger.spark.checkpoint import offsets_of

NONE = -1


class StreamProgress:
    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint

    @property
    def batch(self) -> int:
        """The last one that Spark knows to be done."""
        commits = self._checkpoint / "commits"
        return max((int(each.name) for each in commits.glob("*") if each.name.isdigit()), default=NONE)

    @property
    def offsets(self) -> int:
        """That lie behind it, of all partitions together."""
        batch = self.batch
        if batch == NONE:
            return 0
        return sum(offsets_of((self._checkpoint / "offsets" / str(batch)).read_text()).values())
