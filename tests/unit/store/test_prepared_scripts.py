"""The file of prepared scripts: what it is used for, when it is ignored, and how it is replaced."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from redis_ledger.store import prepared_scripts
from redis_ledger.store.prepared_scripts import FILE, Prepared, cached
from redis_ledger.store.scripts import prepare

CODE = b"the code"
FILES = {
    "ledger/a": b'#!lua\n--- @include "include/x"\nreturn X\n',
    "txn/b": b"#!lua flags=allow-oom\nreturn '\xc3\xa9\xff'\n",
    "include/x": b"local X = 1\nlocal Y = 2\n",
}
ROOT = Path(__file__).resolve().parents[3]


class Counted:
    """Prepares scripts, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, files: Mapping[str, bytes]) -> Prepared:
        self.calls += 1
        return prepare(files)


def written(root: Path) -> Path:
    """Writes the file of FILES."""
    cached(root, FILES, prepare, CODE)
    assert os.listdir(root) == [FILE]
    return root / FILE


def preparations(root: Path, files: Mapping[str, bytes] = FILES, code: bytes = CODE) -> int:
    """Returns how often the scripts were prepared; what they are is always right."""
    counted = Counted()
    assert cached(root, files, counted, code) == prepare(files)
    return counted.calls


def test_scripts_are_prepared_once_and_read_afterwards(tmp_path):
    assert [preparations(tmp_path) for _ in range(3)] == [1, 0, 0]


def test_every_user_can_read_the_file(tmp_path):
    assert written(tmp_path).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({**FILES, "ledger/a": FILES["ledger/a"] + b"-- edited\n"}, CODE),
        ({**FILES, "include/x": b"local X = 3\n"}, CODE),
        ({**FILES, "txn/added": b"#!lua\nreturn 1\n"}, CODE),
        ({"ledger/a": FILES["ledger/a"], "include/x": FILES["include/x"]}, CODE),
        ({**{name: FILES[name] for name in ("ledger/a", "include/x")}, "txn/renamed": FILES["txn/b"]}, CODE),
        (FILES, b"other code"),
    ],
    ids=["a script", "an include", "one more", "one less", "a name", "the code"],
)
def test_a_change_of_sources_or_code_takes_effect_at_once(tmp_path, files, code):
    written(tmp_path)
    assert [preparations(tmp_path, files, code) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize("kept", [0, 1, 64, 65, 66, -1])
def test_a_truncated_file_is_ignored_and_replaced(tmp_path, kept):
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:kept])
    assert [preparations(tmp_path) for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    "change",
    [
        lambda whole: whole.replace(b"return X", b"return Y"),
        lambda whole: whole + b" ",
        lambda whole: b"0" * 64 + whole[64:],
        lambda whole: whole[65:],
        lambda whole: b"\xff" * len(whole),
    ],
    ids=["a script", "the end", "the digest", "no digest", "all"],
)
def test_a_changed_file_is_ignored_and_replaced(tmp_path, change):
    file = written(tmp_path)
    changed = change(file.read_bytes())
    assert changed != file.read_bytes()
    file.write_bytes(changed)
    assert [preparations(tmp_path) for _ in range(2)] == [1, 0]


def test_a_folder_in_place_of_the_file_is_ignored(tmp_path):
    (tmp_path / FILE).mkdir()
    assert preparations(tmp_path) == 1
    assert os.listdir(tmp_path) == [FILE]


def test_a_folder_that_cannot_be_written_costs_a_preparation_at_each_start(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert [preparations(tmp_path) for _ in range(2)] == [1, 1]
    assert os.listdir(tmp_path) == []


def test_a_write_that_fails_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch):
    file = written(tmp_path)
    before = file.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    assert preparations(tmp_path, code=b"other code") == 1
    assert os.listdir(tmp_path) == [FILE]
    assert file.read_bytes() == before


def test_a_reader_that_opened_the_file_reads_the_whole_of_it_while_it_is_replaced(tmp_path):
    file = written(tmp_path)
    before = file.read_bytes()
    with file.open("rb") as reader:
        assert reader.read(100) == before[:100]
        assert preparations(tmp_path, {**FILES, "txn/c": b"#!lua\nreturn 1\n"}) == 1
        assert reader.read() == before[100:]


def test_of_two_writers_both_have_their_scripts_and_the_last_file_is_whole(tmp_path):
    # Given a process that writes the file while another one prepares it
    def slowly(files: Mapping[str, bytes]) -> Prepared:
        assert preparations(tmp_path) == 1
        return prepare(files)

    other = {**FILES, "txn/c": b"#!lua\nreturn 1\n"}
    # When the other one writes, too
    assert cached(tmp_path, other, slowly, CODE) == prepare(other)
    # Then its file is used
    assert preparations(tmp_path, other) == 0
    assert os.listdir(tmp_path) == [FILE]


def test_without_files_of_the_code_nothing_is_kept(tmp_path):
    assert [preparations(tmp_path, code=b"") for _ in range(2)] == [1, 1]
    assert os.listdir(tmp_path) == []


def test_the_digest_includes_all_code_that_prepares_scripts():
    needed, found = ["scripts"], set[str]()
    while needed:
        module = needed.pop()
        found.add(module)
        tree = ast.parse((ROOT / "redis_ledger" / "store" / f"{module}.py").read_text())
        imports = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        ours = [name.removeprefix("redis_ledger.store.") for name in imports if name.startswith("redis_ledger.store.")]
        needed += [name for name in ours if name not in found]
    assert found == set(prepared_scripts.CODE)


def test_an_edit_of_a_lua_file_takes_effect_at_the_next_start(tmp_path):
    # Given a copy of the package that has started before
    package = tmp_path / "redis_ledger"
    for name in ("errors", "store"):
        shutil.copytree(ROOT / "redis_ledger" / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "ids.py"):
        shutil.copy(ROOT / "redis_ledger" / name, package)
    script = package / "_lua" / "ledger" / "one.lua"
    script.parent.mkdir(parents=True)
    script.write_text("#!lua\nreturn 1")

    def start() -> bytes:
        probe = "import sys\nfrom redis_ledger.store.scripts import Script"
        probe += "\nsys.stdout.buffer.write(Script.load('ledger/one').source + Script.libraries()[0].source)"
        return subprocess.check_output([sys.executable, "-c", probe], cwd=tmp_path)

    assert start() == start()
    assert (package / "_lua" / FILE).exists()
    # When a script is edited
    script.write_text("#!lua\nreturn 2")
    # Then the next process has it
    assert start().count(b"return 2") == 2
