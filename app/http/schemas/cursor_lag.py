"""Bodies that show how far subscriptions and Kafka groups are behind."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import Offset, Partition, Reply, Request, TimeMs
from redis_ledger.app.http.schemas.inspection import Kind

_LAG = Meta(
    description="Records that are not acknowledged: not delivered yet, leased, or acknowledged in an open transaction."
)
_EXACT = Meta(
    description="False: an upper bound, because the log is long; it counts offsets, which include markers and aborted "
    "records."
)
_OLDEST = Meta(description="When the log entry at the position was appended; absent without a lag.")
_BYTES = Meta(description="Size of these records, estimated by the mean size of the partition's records.")


class LagQuery(Request):
    from_partition: Annotated[Partition, Meta(description="The first partition; a reply has at most 64.")] = 0


class PartitionLag(Reply):
    partition: int
    position: Annotated[
        int,
        Meta(
            description="Everything below is acknowledged. For a Kafka group its committed offset, or -1: the lag is "
            "then unknown, and counts as 0."
        ),
    ]
    stable_offset: Annotated[int, Meta(description="The end of the deliverable records.")]
    end_offset: Offset
    lag: Annotated[int, _LAG]
    lag_is_exact: Annotated[bool, _EXACT]
    leased: Annotated[int, Meta(description="Delivered, and neither acknowledged nor returned; 0 for a Kafka group.")]
    pending: Annotated[
        int, Meta(description="Acknowledged in open transactions; for a Kafka group the number of those transactions.")
    ]
    undecided: Annotated[
        int, Meta(description="Offsets above the stable offset: of open transactions, or behind their records.")
    ]
    redelivered: int
    bytes: Annotated[int, _BYTES]
    oldest_ms: Annotated[TimeMs, _OLDEST] | UnsetType = UNSET


class Lag(Reply):
    topic: str
    name: str
    kind: Kind
    lag: Annotated[int, Meta(description="The sum of these partitions.")]
    lag_is_exact: bool
    bytes: Annotated[int, _BYTES]
    partitions: list[PartitionLag]
    oldest_ms: Annotated[TimeMs, _OLDEST] | UnsetType = UNSET
    next_partition: Annotated[int, Meta(description="Where to go on; absent at the end.")] | UnsetType = UNSET


class LagPageQuery(Request):
    topic: Annotated[str, Meta(description="Only of this topic.")] | UnsetType = UNSET
    name: Annotated[str, Meta(description="Only of this subscription or group.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of lags.")] = 100
    after: Annotated[str, Meta(description="`next` of the page before.")] = ""


class TotalLag(Reply):
    topic: str
    name: str
    kind: Kind
    lag: Annotated[int, _LAG]
    lag_is_exact: Annotated[bool, _EXACT]


class LagPage(Reply):
    lags: Annotated[list[TotalLag], Meta(description="By topic and name.")]
    next: (
        Annotated[str, Meta(description="Send it as `after` to get the next page; absent at the end.")] | UnsetType
    ) = UNSET
