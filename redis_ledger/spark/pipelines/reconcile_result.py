"""The result of a reconciliation: what the report shows.  Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from redis_ledger.spark.pipelines.reconcile_bins import Bins, Cells
from redis_ledger.spark.pipelines.reconcile_facts import Check, Matched, SideFacts, Verdict
from redis_ledger.spark.pipelines.reconcile_samples import Samples


@dataclass
class Reconciliation:
    """b, matched: None without a second side."""

    verdict: Verdict
    a: SideFacts
    b: SideFacts | None = None
    matched: Matched | None = None
    checks: list[Check] = field(default_factory=list)
    samples: list[Samples] = field(default_factory=list)
    through_time: Bins | None = None
    along_offsets: list[Cells] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0
