"""Progress of a pipeline: one line on stderr for each finished piece.

    offload: orders:0 from 0 to 9100: 9,055 records, 12.5 MB (3 of 8, 41.0 MB/s)
             ╰ the piece             ╰ its size              ╰ done of all, and the average rate

Tasks report pieces to the driver when each task ends, not when the job does:

    heard = hear(spark.sparkContext, progress.done)
    rdd.foreach(lambda piece: heard.add([Done(piece.name, records=piece.records)]))
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext


class Done(NamedTuple):
    """A finished piece.  records, bytes: 0 if not counted."""

    what: str
    records: int = 0
    bytes: int = 0


class Progress:
    """name: of the pipeline.  pieces: the expected number, 0 if unknown.  Thread-safe."""

    def __init__(
        self, name: str, pieces: int = 0, *, out: TextIO | None = None, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._pieces, self._out, self._clock_s = name, pieces, out, clock_s
        self._began_s = clock_s()
        self._lock = threading.Lock()
        self.finished = self.records = self.bytes = 0

    def expect(self, pieces: int) -> None:
        """Raises the expected number of pieces."""
        with self._lock:
            self._pieces += pieces

    def done(self, piece: Done) -> None:
        with self._lock:
            self.finished += 1
            self.records += piece.records
            self.bytes += piece.bytes
            of_all = f" of {max(self._pieces, self.finished)}" if self._pieces else ""
            rate = self._rate()
            amount = amounts(piece.records, piece.bytes)
            line = f"{piece.what}{amount and ': '}{amount} ({self.finished:,}{of_all}{rate and ', '}{rate})"
        self.say(line)

    def say(self, sentence: str) -> None:
        print(f"{self._name}: {one_line(sentence)}", file=self._out or sys.stderr, flush=True)

    def end(self, did: str) -> None:
        """Prints the last line: `did` names the action, as in "offloaded"."""
        rate = self._rate()
        self.say(f"{did} {amounts(self.records, self.bytes) or 'nothing'}{rate and f', {rate}'}.")

    def _rate(self) -> str:
        seconds = max(self._clock_s() - self._began_s, 1e-3)
        if self.bytes:
            return f"{size(self.bytes / seconds)}/s"
        return f"{self.records / seconds:,.0f} records/s" if self.records else ""


def amounts(records: int, bytes_: int) -> str:
    said = [f"{records:,} record{'' if records == 1 else 's'}"] if records else []
    return ", ".join([*said, size(bytes_)] if bytes_ else said)


def size(bytes_: float) -> str:
    """Formats 12.5 MB, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}" if unit == "B" else f"{bytes_:.1f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:,.1f} TB"


def hear(context: SparkContext, heard: Callable[[Done], None]) -> Accumulator[Any]:
    """Tasks add lists of pieces to it; `heard` is called on the driver once for each piece of a task that succeeded."""
    from pyspark import AccumulatorParam

    class Hearing(AccumulatorParam[list[Done]]):
        def zero(self, value: list[Done]) -> list[Done]:
            return []

        def addInPlace(self, held: list[Done], added: Iterable[Done]) -> list[Done]:
            return [*held, *added]

    class Heard(Hearing):
        """The accumulator of the driver; workers get the base class."""

        def addInPlace(self, held: list[Done], added: Iterable[Done]) -> list[Done]:
            for piece in added:
                heard(piece)
            return []

        def __reduce__(self) -> tuple[type[Hearing], tuple[()]]:
            return Hearing, ()

    return context.accumulator([], Heard())
