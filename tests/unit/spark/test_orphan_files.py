"""Orphan files in the object store."""

from __future__ import annotations

import os

from redis_ledger.offload.object_store import open_home
from redis_ledger.spark.orphan_files import ListedFile, find_orphans, list_files

OLD, NEW, LIMIT = 100.0, 300.0, 200.0
FOLDER = "orders/ab/partition=0/"
STRETCH = f"{FOLDER}00000000000000000000-00000000000000000100"


def test_named_files_are_kept_and_old_ones_are_orphans():
    found = [
        ListedFile(f"{STRETCH}-p1.parquet", OLD),
        ListedFile(f"{STRETCH}-p2.parquet", OLD),
        ListedFile(f"{STRETCH}-p3.parquet", NEW),
        ListedFile(f"{FOLDER}_tmp-6f-00-01-p1", OLD),
        ListedFile(f"{FOLDER}_tmp-70-00-01-p1", NEW),
        ListedFile(f"{FOLDER}manifest.json", OLD),
        ListedFile(f"{FOLDER}README.txt", OLD),
    ]
    gone = find_orphans(found, {f"{STRETCH}-p1.parquet"}, set(), LIMIT)
    assert gone == [f"{STRETCH}-p2.parquet", f"{FOLDER}_tmp-6f-00-01-p1"]


def test_files_of_an_ended_plan_are_orphans_at_once_unless_named():
    found = [
        ListedFile(f"{STRETCH}-p1.parquet", NEW),
        ListedFile(f"{STRETCH}-p2.parquet", NEW),
        ListedFile(f"{FOLDER}_tmp-6f-00-01-p1", NEW),
        ListedFile(f"{STRETCH}-xp2.parquet", NEW),
    ]
    gone = find_orphans(found, {f"{STRETCH}-p1.parquet"}, {"p1", "p2"}, LIMIT)
    assert gone == [f"{STRETCH}-p2.parquet", f"{FOLDER}_tmp-6f-00-01-p1"]


def test_files_are_listed_with_their_age_and_a_folder_that_is_not_there_is_empty(tmp_path):
    home = open_home(str(tmp_path))
    assert list_files(home, FOLDER) == []
    home.put(f"{FOLDER}a.parquet", b"x")
    os.utime(tmp_path / FOLDER / "a.parquet", (50, 50))
    (tmp_path / FOLDER / "deeper").mkdir()
    assert list_files(home, FOLDER) == [ListedFile(f"{FOLDER}a.parquet", 50.0)]
