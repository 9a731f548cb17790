"""Orphan files in the object store: a killed run leaves them, and a later run deletes them.

    _tmp-3f9c…-<stretch>-<plan>      of an attempt that died, or lost against another one
    <stretch>-<plan>.parquet         of an abandoned plan, or of a segment that was removed or compacted

Files that the manifest or the stored plan names are kept.  Another run may be writing the others, so they are deleted
when they are old, or at once if their plan is known to have ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from redis_ledger.offload.object_store import UNFINISHED, ObjectStore

SUFFIX = ".parquet"


class ListedFile(NamedTuple):
    """file: relative to the object store.  changed_s: last modification, since 1970."""

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


def list_files(home: ObjectStore, folder: str) -> list[ListedFile]:
    """Returns the files in a folder; none if it does not exist."""
    from pyarrow.fs import FileSelector, FileType

    found = home.fs.get_file_info(FileSelector(home.path(folder.rstrip("/")), allow_not_found=True))
    return [
        ListedFile(each.path.removeprefix(f"{home.base}/"), each.mtime_ns / 1e9)
        for each in found
        if each.type == FileType.File
    ]


def find_orphans(
    found: Iterable[ListedFile], named: Collection[str], ended_plans: Collection[str], before_s: float
) -> list[str]:
    """Returns the files to delete.

    found      must be listed before `named` is read; else a file that is named in between counts as an orphan
    named      by the manifest and the stored plan
    ended_plans       ids of plans that were published or abandoned
    before_s   a file that was last changed before this is old
    """
    return [
        each.file
        for each in found
        if each.is_ours
        and each.file not in named
        and (each.changed_s < before_s or any(each.is_of(plan) for plan in ended_plans))
    ]
