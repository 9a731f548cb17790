"""Copy of a partition's manifest beside its files, for people and for readers without a broker.

The manifest in Redis is authoritative.  Each job that changes it also writes the copy, so the copy may be out of date
for a moment or, if the job was killed, until the next offload or compaction.
"""

from __future__ import annotations

import msgspec

from redis_ledger.client.models import OffloadedPartition
from redis_ledger.offload.manifest import folder
from redis_ledger.offload.object_store import ObjectStore

MANIFEST = "manifest.json"


def copy_name(topic: str, topic_id: str, partition: int) -> str:
    """Returns the file name."""
    return f"{folder(topic, topic_id, partition)}{MANIFEST}"


def write_copy(home: ObjectStore, topic: str, topic_id: str, now: OffloadedPartition) -> None:
    copy = {
        "topic": topic, "topic_id": topic_id, "partition": now.partition, "start_offset": now.start_offset,
        "cold_offset": now.offloaded_offset, "version": now.version, "segments": now.segments,
    }  # fmt: skip
    text = msgspec.json.format(msgspec.json.encode(copy), indent=2) + b"\n"
    file = copy_name(topic, topic_id, now.partition)
    if home.read(file) != text:
        home.put(file, text)
