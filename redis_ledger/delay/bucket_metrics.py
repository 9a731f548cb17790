"""Counts and times operations on buckets, as in PIP-195: create, load, delete and merge, by outcome."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis_ledger.telemetry import metrics


class BucketMetrics:
    """The bucket operations of one topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    @contextmanager
    def operation(self, kind: str) -> Iterator[None]:
        """kind: create, load, delete or merge."""
        begun, state = time.monotonic(), "failed"
        try:
            yield
            state = "succeed"
        finally:
            topic = metrics.topics.label(self.topic)
            for each in (state, "all"):
                metrics.delayed_bucket_operations.labels(topic, each, kind).inc()
            metrics.delayed_bucket_operation_ms.labels(topic, kind).observe((time.monotonic() - begun) * 1000)
