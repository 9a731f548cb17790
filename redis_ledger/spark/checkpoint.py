"""What a batch of a stream has read, from where Spark writes it down before it begins: <checkpoint>/offsets/<batch>.

    v1                                version
    {"batchWatermarkMs": 0, ...}      the batch
    {"orders": {"0": 12}}             how far each source is read by its end; "-" where there is nothing
    714                               of a source that is not ours

The sink is told the number of a batch and nothing of its sources, so this is the only place to learn it.
"""

from __future__ import annotations

import json
from typing import Any

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.offset_options import Offsets, of_checkpoint

HEAD_LINES = 2


def offsets_of(text: str) -> Offsets:
    """Of all sources that are topics; one that several of them read, as far as the one that is furthest behind."""
    found: Offsets = {}
    for line in text.split("\n")[HEAD_LINES:]:
        for partition, offset in of_checkpoint(_ours(line)).items():
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
    """checkpoint: a path, or a URI that pyarrow knows (file, hdfs, s3, gs).  Raises InvalidRequest."""
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
            f"commitSubscription: what batch {batch} has read cannot be found in the checkpoint {checkpoint}: {error}"
        ) from error
    return offsets_of(text)
