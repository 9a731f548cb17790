"""How metrics are declared, and all of them as Prometheus' text.

counter gauge histogram   the library's                family spreads   ours, for many series and for hot paths
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from redis_ledger.telemetry.series import Family, Row, Spreads

REGISTRY = CollectorRegistry(auto_describe=True)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds in seconds: fine where a request to a near Redis ends, coarse where a long poll does.
LATENCY_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 60.0)


class Declared(NamedTuple):
    name: str
    kind: str
    unit: str
    labels: Sequence[str]
    help: str


_declared: list[Declared] = []
_collectors: list[tuple[Counter | Gauge | Histogram, tuple[str, ...]]] = []  # with their labels
_families: list[Family | Spreads] = []
M = TypeVar("M", Counter, Gauge, Histogram)


def _kept(metric: M, labels: Sequence[str]) -> M:
    _collectors.append((metric, tuple(labels)))
    return metric


def counter(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Counter:
    _declared.append(Declared(f"{name}_total", "counter", unit, tuple(labels), help))
    return _kept(Counter(name, help, tuple(labels), registry=REGISTRY), labels)


def gauge(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Gauge:
    _declared.append(Declared(name, "gauge", unit, tuple(labels), help))
    return _kept(Gauge(name, help, tuple(labels), registry=REGISTRY), labels)


def histogram(
    name: str,
    help: str,
    *,
    labels: Sequence[str] = (),
    unit: str = "seconds",
    bounds: Sequence[float] = LATENCY_SECONDS,
) -> Histogram:
    _declared.append(Declared(name, "histogram", unit, tuple(labels), help))
    return _kept(Histogram(name, help, tuple(labels), registry=REGISTRY, buckets=tuple(bounds)), labels)


def family(
    name: str,
    help: str,
    *,
    labels: Sequence[str] = (),
    unit: str = "",
    kind: str = "gauge",
    source: Callable[[], Iterable[Row]] | None = None,
) -> Family:
    """Of many series, or of numbers that are kept elsewhere.  A counter's name has its `_total` already."""
    _declared.append(Declared(name, kind, unit, tuple(labels), help))
    made = Family(name, kind, help, labels, source)
    _families.append(made)
    return made


def spreads(name: str, help: str, *, label: str = "", bounds: Sequence[float] = LATENCY_SECONDS) -> Spreads:
    """A histogram of seconds for what every request passes: the library's takes as long as many a step of ours."""
    _declared.append(Declared(name, "histogram", "seconds", (label,) if label else (), help))
    made = Spreads(name, help, label, bounds)
    _families.append(made)
    return made


def declared() -> list[Declared]:
    return list(_declared)


def parts() -> Iterator[bytes]:
    """All metrics in Prometheus text format, one after the other: the pauses between are somebody else's."""
    for metric, _ in _collectors:
        yield generate_latest(_One(metric))
    for each in _families:
        yield each.text().encode()


def forget(**values: Sequence[str]) -> None:
    """The series of the library's metrics that have no labels but these, with each of the values."""
    for metric, labels in _collectors:
        if labels and values.keys() >= set(labels):
            for each in product(*(values[label] for label in labels)):
                metric.remove(*each)


class _One(CollectorRegistry):
    """A registry of one metric."""

    def __init__(self, metric: Counter | Gauge | Histogram) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        """Without the time at which each series began: nobody asks for it, and there would be twice as many."""
        for metric in self._metric.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
