"""Declares metrics, and renders all of them as Prometheus text.

counter gauge histogram    of prometheus_client
family histogram_family    our own, for many series and hot paths
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from redis_ledger.telemetry.series import Family, HistogramFamily, Row

REGISTRY = CollectorRegistry(auto_describe=True)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Upper bounds in seconds: fine for calls to a near Redis, coarse for long polls.
LATENCY_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 60.0)


class Declaration(NamedTuple):
    name: str
    kind: str
    unit: str
    labels: Sequence[str]
    help: str


_declared: list[Declaration] = []
_collectors: list[tuple[Counter | Gauge | Histogram, tuple[str, ...]]] = []  # with their labels
_families: list[Family | HistogramFamily] = []
M = TypeVar("M", Counter, Gauge, Histogram)


def _register(metric: M, labels: Sequence[str]) -> M:
    _collectors.append((metric, tuple(labels)))
    return metric


def counter(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Counter:
    _declared.append(Declaration(f"{name}_total", "counter", unit, tuple(labels), help))
    return _register(Counter(name, help, tuple(labels), registry=REGISTRY), labels)


def gauge(name: str, help: str, *, labels: Sequence[str] = (), unit: str = "") -> Gauge:
    _declared.append(Declaration(name, "gauge", unit, tuple(labels), help))
    return _register(Gauge(name, help, tuple(labels), registry=REGISTRY), labels)


def histogram(
    name: str,
    help: str,
    *,
    labels: Sequence[str] = (),
    unit: str = "seconds",
    bounds: Sequence[float] = LATENCY_SECONDS,
) -> Histogram:
    _declared.append(Declaration(name, "histogram", unit, tuple(labels), help))
    return _register(Histogram(name, help, tuple(labels), registry=REGISTRY, buckets=tuple(bounds)), labels)


def family(
    name: str,
    help: str,
    *,
    labels: Sequence[str] = (),
    unit: str = "",
    kind: str = "gauge",
    source: Callable[[], Iterable[Row]] | None = None,
) -> Family:
    """A metric with many series, or with values stored elsewhere.  The name of a counter includes `_total`."""
    _declared.append(Declaration(name, kind, unit, tuple(labels), help))
    created = Family(name, kind, help, labels, source)
    _families.append(created)
    return created


def histogram_family(
    name: str, help: str, *, label: str = "", unit: str = "seconds", bounds: Sequence[float] = LATENCY_SECONDS
) -> HistogramFamily:
    """A histogram for hot paths; faster than the library's."""
    _declared.append(Declaration(name, "histogram", unit, (label,) if label else (), help))
    created = HistogramFamily(name, help, label, bounds)
    _families.append(created)
    return created


def declared() -> list[Declaration]:
    return list(_declared)


def parts() -> Iterator[bytes]:
    """All metrics in Prometheus text format, one at a time, so that other tasks can run in between."""
    for metric, _ in _collectors:
        yield generate_latest(_One(metric))
    for each in _families:
        yield each.text().encode()


def forget(**values: Sequence[str]) -> None:
    """Removes the library's series that have only these labels and any of these values."""
    for metric, labels in _collectors:
        if labels and values.keys() >= set(labels):
            for each in product(*(values[label] for label in labels)):
                metric.remove(*each)


class _One(CollectorRegistry):
    """A registry of one metric."""

    def __init__(self, metric: Counter | Gauge | Histogram) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        """Omits `_created` samples, which would double the number of series."""
        for metric in self._metric.collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
