"""A copy of a partition's manifest beside its files: for people, and for readers without a broker.

What counts is in Redis.  Whoever changes it there writes the copy anew, so it is behind for a moment, or, when he was
killed, until the next run of an offload or a compaction.
"""

from __future__ import annotations

import msgspec

from redis_ledger.client.models import OffloadedPartition
from redis_ledger.offload.manifest import folder
from redis_ledger.offload.object_store import ObjectStore

MANIFEST = "manifest.json"


def copy_of(topic: str, topic_id: str, partition: int) -> str:
    """The file's name."""
    return f"{folder(topic, topic_id, partition)}{MANIFEST}"


def keep_copy(home: ObjectStore, topic: str, topic_id: str, now: OffloadedPartition) -> None:
    copy = {
        "topic": topic, "topic_id": topic_id, "partition": now.partition, "start_offset": now.start_offset,
        "cold_offset": now.offloaded_offset, "version": now.version, "segments": now.segments,
    }  # fmt: skip
    text = msgspec.json.format(msgspec.json.encode(copy), indent=2) + b"\n"
    file = copy_of(topic, topic_id, now.partition)
    if home.read(file) != text:
        home.put(file, text)
