"""Writing history to Parquet: plans, segments, the manifest."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict


class OffloadDisabled(Conflict):
    """The broker has no place for history in Parquet. Set offload_home (serve --offload-home), and start it again."""

    code = "offload_disabled"


class UnknownPlan(Conflict):
    """There is no such plan (any more). Ask for the present one with cold:plan."""

    code = "unknown_plan"


class SegmentMismatch(Conflict):
    """The segments do not fit what they are to take the place of. Nothing was changed; the detail says what differs."""

    code = "segment_mismatch"


class ManifestChanged(Conflict):
    """The manifest has changed since it was read. Read it again, and decide anew."""

    code = "manifest_changed"
