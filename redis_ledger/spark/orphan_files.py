"""Orphan files in the object store: a killed run leaves them, a later one deletes them.

    _tmp-3f9c…-<stretch>-<plan>      an attempt that died, or was overtaken
    <stretch>-<plan>.parquet         of a plan that was given up, or a segment that was forgotten or compacted

One that the manifest or the stored plan names stays.  Others may be what somebody is just writing, to be named soon: so
they go when they are old, or at once when they are of a plan that is known to be over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from redis_ledger.offload.object_store import UNFINISHED, ObjectStore

SUFFIX = ".parquet"


class Listed(NamedTuple):
    """file: relative to the home.  changed_s: when, since 1970."""

    file: str
    changed_s: float

    @property
    def name(self) -> str:
        return self.file.rpartition("/")[2]

    @property
    def is_unfinished(self) -> bool:
        return self.name.startswith(UNFINISHED)

    @property
    def is_ours(self) -> bool:
        return self.is_unfinished or self.name.endswith(SUFFIX)

    def is_of(self, plan: str) -> bool:
        return self.name.removesuffix(SUFFIX).endswith(f"-{plan}")


def listed(home: ObjectStore, folder: str) -> list[Listed]:
    """The files in a folder; none where it is not there."""
    from pyarrow.fs import FileSelector, FileType

    found = home.fs.get_file_info(FileSelector(home.path(folder.rstrip("/")), allow_not_found=True))
    return [
        Listed(each.path.removeprefix(f"{home.base}/"), each.mtime_ns / 1e9)
        for each in found
        if each.type == FileType.File
    ]


def left_over(found: Iterable[Listed], named: Collection[str], over: Collection[str], before_s: float) -> list[str]:
    """Those to be deleted.

    found      must have been listed before `named` was read, else what came in between is taken for a leftover
    named      by the manifest, and by the plan that is stored
    over       ids of plans that are published or given up
    before_s   a file that was changed before this is old
    """
    return [
        each.file
        for each in found
        if each.is_ours
        and each.file not in named
        and (each.changed_s < before_s or any(each.is_of(plan) for plan in over))
    ]
