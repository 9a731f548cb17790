"""The files that Spark's file sink has committed, as listed in its log.

parquet/part-00000-….parquet        may belong to an interrupted batch
parquet/_spark_metadata/0, 1, …     one batch each: "v1", then one file per line
parquet/_spark_metadata/9.compact   batches 0 to 9
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LOG = "_spark_metadata"


def files(folder: Path) -> list[Path]:
    log = folder / LOG
    if not log.is_dir():
        return []
    compact = max((int(path.stem) for path in log.glob("*.compact")), default=-1)
    batches = sorted(int(path.name) for path in log.iterdir() if path.name.isdigit() and int(path.name) > compact)
    names = ([f"{compact}.compact"] if compact >= 0 else []) + [str(batch) for batch in batches]
    return [path for name in names for path in _named(log / name)]


def _named(batch: Path) -> Iterator[Path]:
    for line in batch.read_text().splitlines()[1:]:
        entry = json.loads(line)
        if entry["action"] == "add":
            yield Path(unquote(urlsplit(entry["path"]).path))


def rows(folder: Path) -> list[Any]:
    """The rows of all committed files."""
    from pyarrow import parquet

    return [row for path in files(folder) for row in parquet.read_table(path).to_pylist()]
