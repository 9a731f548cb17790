"""Families of many series, written in Prometheus' text format by ourselves: a thousand rows cost a millisecond.

    Family   rows that were read elsewhere, all put at once      Traffic   plain numbers that the hot path adds to
    Names    how many topics get series of their own: first come, first served; the others share "other"

    Spreads  a histogram whose observation is a bisection
The library's own counters take a lock and a call each; what is counted with every batch is an attribute here, and
becomes text when somebody asks.  Source: Prometheus' exposition formats.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate

OTHER = "other"
OFTEN = 16
Row = tuple[tuple[object, ...], float]
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Family:
    """source: asked for the rows whenever they are shown; None: whoever has them puts them."""

    def __init__(
        self, name: str, kind: str, help: str, labels: Sequence[str], source: Callable[[], Iterable[Row]] | None = None
    ) -> None:
        self._source = source
        self._head = f"# HELP {name} {help}\n# TYPE {name} {kind}\n"
        # One format string a row; %s takes an int as it is and a float as Python writes it, which Prometheus reads.
        shown = ",".join(f'{label}="%s"' for label in labels)
        self._line = f"{name}{{{shown}}} %s\n" if labels else f"{name} %s\n"
        self._text = ""

    def set(self, value: float) -> None:
        """Of one without labels."""
        self.put([((), value)])

    def put(self, rows: Iterable[Row]) -> None:
        """These rows and no others from now on."""
        line = self._line
        text = "".join([line % (*map(_shown, labels), value) for labels, value in rows])
        self._text = self._head + text if text else ""

    def text(self) -> str:
        if self._source is not None:
            self.put(self._source())
        return self._text


def _shown(label: object) -> object:
    return label.translate(_ESCAPES) if isinstance(label, str) else label


class Traffic:
    """What went in and out of one topic through this process, and what was difficult.  Bytes are those of batches as
    they are stored.

    redelivered   records delivered another time       often   of these, those delivered OFTEN times or more before
    unreadable    records that were passed over, because their batch cannot be read
    dead          records that were moved to a dead-letter topic
    """

    __slots__ = ("bytes_in", "bytes_out", "dead", "often", "records_in", "records_out", "redelivered", "unreadable")

    def __init__(self) -> None:
        self.records_in = self.bytes_in = self.records_out = self.bytes_out = 0
        self.redelivered = self.often = self.unreadable = self.dead = 0

    def delivered(self, records: int, size: int, times: int) -> None:
        """times: how often they had been delivered before."""
        self.records_out += records
        self.bytes_out += size
        if times:
            self.redelivered += records
            if times >= OFTEN:
                self.often += records


class Names:
    """Topics with series of their own, at most `most`, and their traffic."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self._traffic: dict[str, Traffic] = {}
        self._other = Traffic()

    def of(self, topic: str) -> Traffic:
        """Where a topic's traffic is counted.  To be kept by who counts: this is a look-up."""
        found = self._traffic.get(topic)
        if found is None:
            if len(self._traffic) >= self.most or topic == OTHER:
                return self._other
            found = self._traffic[topic] = Traffic()
        return found

    def admits(self, topic: str) -> bool:
        """Whether a topic has series of its own; one that comes while there is room gets them."""
        return self.of(topic) is not self._other

    def label(self, topic: str) -> str:
        return topic if self.admits(topic) else OTHER

    def forget(self, topics: Collection[str]) -> None:
        """Topics that are gone make room."""
        for topic in topics:
            self._traffic.pop(topic, None)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._traffic))

    def rows(self, of: str) -> Iterable[Row]:
        """of: which of Traffic's numbers.  "other" is shown once it has counted anything."""
        for topic, traffic in self._traffic.items():
            yield (topic,), getattr(traffic, of)
        if self._other.records_in or self._other.records_out or self._other.unreadable:
            yield (OTHER,), getattr(self._other, of)


class Calls:
    """What was asked of Redis, over all connections: calls, and writes that carry those of one event-loop tick."""

    __slots__ = ("answered", "writes")

    def __init__(self) -> None:
        self.answered = self.writes = 0


class Spread:
    """One series of a histogram.  observe costs a bisection."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)  # of each bucket by itself; the last is what is above all bounds
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


class Spreads:
    """A histogram's series by one label, or the only one.  One that has observed nothing is not shown: most operations
    are never asked for, and each would have some fifteen lines."""

    def __init__(self, name: str, help: str, label: str, bounds: Sequence[float]) -> None:
        self._name, self._label, self._bounds = name, label, tuple(map(float, bounds))
        self._head = f"# HELP {name} {help}\n# TYPE {name} histogram\n"
        self._series: dict[str, Spread] = {}

    def of(self, value: str = "") -> Spread:
        """To be kept by who observes: this is a look-up."""
        return self._series.setdefault(value, Spread(self._bounds))

    def forget(self, value: str) -> None:
        self._series.pop(value, None)

    def text(self) -> str:
        shown = [self._lines(value, each) for value, each in self._series.items() if any(each.counts)]
        return self._head + "".join(shown) if shown else ""

    def _lines(self, value: str, series: Spread) -> str:
        name, label = self._name, f'{self._label}="{_shown(value)}"' if self._label else ""
        bounds = zip((*self._bounds, "+Inf"), accumulate(series.counts), strict=True)
        lines = [f'{name}_bucket{{{label}{"," if label else ""}le="{le}"}} {count}\n' for le, count in bounds]
        braced = f"{{{label}}}" if label else ""
        lines.append(f"{name}_count{braced} {sum(series.counts)}\n{name}_sum{braced} {series.total}\n")
        return "".join(lines)
