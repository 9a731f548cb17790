"""`scripts/check.py upgrade` reports what is missing to get the previous release, and fails."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scripts import upgrade

NOWHERE = "93e1798" + "0" * 33


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", "-C", str(folder), *named, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With two commits, the first of which has a lock."""
    monkeypatch.setattr(upgrade, "ROOT", tmp_path / "clone")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "clone"
    (folder / "requirements").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / upgrade.LOCK).write_text(f"msgspec=={version('msgspec')} \\\n    --hash=sha256:0\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "commit", "-qm", "second", "--allow-empty")
    return folder


def test_a_commit_is_laid_out_once_and_runs_here_if_its_lock_is_met_here(clone):
    release = upgrade.laid_out(upgrade.commit_of("HEAD~1"))
    assert release.name == git(clone, "rev-parse", "HEAD~1")
    assert upgrade.interpreter(release) == Path(sys.executable)
    (release / "kept").touch()
    assert (upgrade.laid_out(release.name) / "kept").exists()
    assert not upgrade.is_here(Requirement("msgspec==0.0.1"))


def test_a_commit_that_is_nowhere_is_named(clone):
    with pytest.raises(
        upgrade.Missing, match=f"^commit {NOWHERE}, the release before, is not in this clone; git fetch"
    ):
        upgrade.commit_of(NOWHERE)


def test_shallow_clone_error_names_unshallow(clone, tmp_path, monkeypatch):
    first = git(clone, "rev-parse", "HEAD~1")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{clone}", "shallow")
    monkeypatch.setattr(upgrade, "ROOT", tmp_path / "shallow")
    with pytest.raises(upgrade.Missing, match="this clone is shallow: git fetch --unshallow"):
        upgrade.commit_of(first)


def test_folder_that_is_not_a_clone_has_no_history(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(upgrade, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["upgrade.py"])
    assert upgrade.main() == 1
    assert "is not a git clone" in capsys.readouterr().err
