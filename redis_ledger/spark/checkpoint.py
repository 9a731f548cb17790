"""Offsets that a stream's batch has read, from Spark's checkpoint: <checkpoint>/offsets/<batch>.

    v1                                version
    {"batchWatermarkMs": 0, ...}      the batch
    {"orders": {"0": 12}}             the end offsets of a source; "-" if it has none
    714                               a source of another format

Spark passes the sink the batch number only, so the checkpoint is the only place with the offsets.
"""

from __future__ import annotations

import json
from typing import Any

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.offset_options import Offsets, from_checkpoint

HEAD_LINES = 2


def parse_offsets(text: str) -> Offsets:
    """Returns the offsets of all sources that are topics; for a partition in several sources, the lowest."""
    found: Offsets = {}
    for line in text.split("\n")[HEAD_LINES:]:
        for partition, offset in from_checkpoint(_ours(line)).items():
            found[partition] = min(offset, found.get(partition, offset))
    return found


def _ours(line: str) -> dict[str, Any]:
    try:
        kept = json.loads(line)
    except ValueError:
        return {}
    is_ours = isinstance(kept, dict) and all(
        isinstance(partitions, dict) and partitions and all(
            number.isdigit() and type(offset) is int and offset >= 0 for number, offset in partitions.items()
        )
        for partitions in kept.values()
    )  # fmt: skip
    return kept if is_ours else {}


def read(checkpoint: str, batch: int) -> Offsets:
    """checkpoint: a path, or a URI that pyarrow supports (file, hdfs, s3, gs).  Raises InvalidRequest."""
    from pyarrow import fs

    try:
        if "://" in checkpoint or checkpoint.startswith("file:"):
            system, base = fs.FileSystem.from_uri(checkpoint.replace("s3a://", "s3://", 1))
        else:
            system, base = fs.LocalFileSystem(), checkpoint
        with system.open_input_stream(f"{base.rstrip('/')}/offsets/{batch}") as file:
            text = file.read().decode()
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            f"commitSubscription: cannot read the offsets of batch {batch} from the checkpoint {checkpoint}: {error}"
        ) from error
    return parse_offsets(text)
