"""Writing history to Parquet: plans, segments, the manifest."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class OffloadDisabled(Conflict):
    """The broker has no location for offloaded records. Set offload_home (serve --offload-home) and restart it."""

    code = "offload_disabled"


class UnknownPlan(Conflict):
    """The plan does not exist or was replaced. Get the current plan with cold:plan."""

    code = "unknown_plan"


class SegmentMismatch(Conflict):
    """The new segments do not match those they replace. Nothing was changed; the detail names the difference."""

    code = "segment_mismatch"


class ManifestChanged(Conflict):
    """The manifest has changed since you read it. Read it again and repeat the request."""

    code = "manifest_changed"
