"""Metric families with many series, rendered directly as Prometheus text: a thousand rows cost a millisecond.

    Family            rows that are set at once               TopicTraffic   plain numbers that the hot path increments
    TopicSeries       limits the topics with their own series: first come, first served; the others share "other"
    HistogramFamily   a histogram whose observation is a bisection

The library's counters take a lock and a call each.  What is counted for every batch is an attribute here, and is
rendered when it is scraped.  Source: Prometheus' exposition formats.
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
    """source: returns the rows when they are rendered; None: `put` sets them."""

    def __init__(
        self, name: str, kind: str, help: str, labels: Sequence[str], source: Callable[[], Iterable[Row]] | None = None
    ) -> None:
        self.name, self._source = name, source
        self._head = f"# HELP {name} {help}\n# TYPE {name} {kind}\n"
        # One format string per row; %s takes an int as it is and a float as Python writes it, which Prometheus reads.
        pairs = ",".join(f'{label}="%s"' for label in labels)
        self._line = f"{name}{{{pairs}}} %s\n" if labels else f"{name} %s\n"
        self._text = ""

    def set(self, value: float) -> None:
        """Sets the value of a family without labels."""
        self.put([((), value)])

    def put(self, rows: Iterable[Row]) -> None:
        """Replaces all rows."""
        line = self._line
        text = "".join([line % (*map(_escape, labels), value) for labels, value in rows])
        self._text = self._head + text if text else ""

    def text(self) -> str:
        if self._source is not None:
            self.put(self._source())
        return self._text


def _escape(label: object) -> object:
    return label.translate(_ESCAPES) if isinstance(label, str) else label


class TopicTraffic:
    """Records and bytes of one topic in and out of this process.  Bytes are those of stored batches.

    redelivered   records that were delivered before   often   of these, those delivered OFTEN times or more
    unreadable    records that were skipped because their batch cannot be read
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


class TopicSeries:
    """The topics with their own series, at most `most`, and their traffic."""

    def __init__(self, most: int = 100) -> None:
        self.most = most
        self._traffic: dict[str, TopicTraffic] = {}
        self._other = TopicTraffic()

    def of(self, topic: str) -> TopicTraffic:
        """The traffic of a topic.  Callers keep the result, to avoid the lookup."""
        found = self._traffic.get(topic)
        if found is None:
            if len(self._traffic) >= self.most or topic == OTHER:
                return self._other
            found = self._traffic[topic] = TopicTraffic()
        return found

    def admits(self, topic: str) -> bool:
        """Whether a topic has its own series; a new topic gets them while there is room."""
        return self.of(topic) is not self._other

    def label(self, topic: str) -> str:
        return topic if self.admits(topic) else OTHER

    def forget(self, topics: Collection[str]) -> None:
        """Removes deleted topics."""
        for topic in topics:
            self._traffic.pop(topic, None)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._traffic))

    def rows(self, of: str) -> Iterable[Row]:
        """of: an attribute of TopicTraffic.  "other" is rendered once it is not zero."""
        for topic, traffic in self._traffic.items():
            yield (topic,), getattr(traffic, of)
        if self._other.records_in or self._other.records_out or self._other.unreadable:
            yield (OTHER,), getattr(self._other, of)


class RedisCalls:
    """Calls to Redis over all connections, and the writes that carry the calls of one event-loop tick."""

    __slots__ = ("answered", "writes")

    def __init__(self) -> None:
        self.answered = self.writes = 0


class HistogramSeries:
    """One series of a histogram.  observe costs a bisection."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)  # per bucket, not cumulative; the last is above all bounds
        self.total = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


class HistogramFamily:
    """A histogram with at most one label.  A series without observations is not rendered: most operations are never
    called, and each would have some fifteen lines."""

    def __init__(self, name: str, help: str, label: str, bounds: Sequence[float]) -> None:
        self._name, self._label, self._bounds = name, label, tuple(map(float, bounds))
        self._head = f"# HELP {name} {help}\n# TYPE {name} histogram\n"
        self._series: dict[str, HistogramSeries] = {}

    def of(self, value: str = "") -> HistogramSeries:
        """Callers keep the result, to avoid the lookup."""
        return self._series.setdefault(value, HistogramSeries(self._bounds))

    def forget(self, value: str) -> None:
        self._series.pop(value, None)

    def text(self) -> str:
        lines = [self._lines(value, each) for value, each in self._series.items() if any(each.counts)]
        return self._head + "".join(lines) if lines else ""

    def _lines(self, value: str, series: HistogramSeries) -> str:
        name, label = self._name, f'{self._label}="{_escape(value)}"' if self._label else ""
        bounds = zip((*self._bounds, "+Inf"), accumulate(series.counts), strict=True)
        lines = [f'{name}_bucket{{{label}{"," if label else ""}le="{le}"}} {count}\n' for le, count in bounds]
        braced = f"{{{label}}}" if label else ""
        lines.append(f"{name}_count{braced} {sum(series.counts)}\n{name}_sum{braced} {series.total}\n")
        return "".join(lines)
