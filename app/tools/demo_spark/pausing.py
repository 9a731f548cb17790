"""The data source with pauses in the middle of a commit, so that the driver can be killed there.

written     all tasks have written and reported; nothing is committed
committed   the broker has committed the batch; Spark has not recorded it
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import NamedTuple

from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from redis_ledger.spark.sink import StreamWriter
from redis_ledger.spark.source import RedisLedgerSource
from redis_ledger.spark.write_options import parse_write_options

OPTION = "pause"


class Pause(NamedTuple):
    """batch: the first batch with a pause.  note: the file to create at the pause."""

    point: str
    batch: int
    note: Path

    @classmethod
    def of(cls, text: str) -> Pause:
        point, batch, note = text.split(" ", 2)
        return cls(point, int(batch), Path(note))

    def reached(self, point: str, batch: int) -> None:
        if point == self.point and batch >= self.batch:
            self.note.touch()
            signal.pause()


class PausingWriter(StreamWriter):
    def __init__(self, pause: Pause, options: dict[str, str], schema: StructType) -> None:
        super().__init__(parse_write_options(options, "stream"), schema, False)
        self._pause = pause

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._pause.reached("written", batchId)
        super().commit(messages, batchId)
        self._pause.reached("committed", batchId)


class PausingSource(RedisLedgerSource):
    @classmethod
    def name(cls) -> str:
        return "redis-ledger-pausing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        options = dict(self.options)
        return PausingWriter(Pause.of(options.pop(OPTION)), options, schema)
