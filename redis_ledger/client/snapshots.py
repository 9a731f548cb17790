"""A snapshot of a subscription, as client.subscriptions.snapshot returns it."""

from __future__ import annotations

import msgspec

from redis_ledger.client.models import Kind


class PartitionSnapshot(msgspec.Struct, frozen=True):
    """acknowledged: beyond mark_delete; lengths in turn, as LEB128 numbers in base64."""

    partition: int
    mark_delete: int
    acknowledged: str = ""


class Snapshot(msgspec.Struct, frozen=True):
    """What was acknowledged in a subscription.

    Path("billing.json").write_bytes(snapshot.encode())
    """

    topic: str
    topic_id: str
    subscription: str
    kind: Kind
    taken_ms: int
    partitions: list[PartitionSnapshot]
    version: int = 1

    def encode(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, text: bytes | str) -> Snapshot:
        """Raises ValueError if the text is no snapshot."""
        return msgspec.json.decode(text, type=cls)
