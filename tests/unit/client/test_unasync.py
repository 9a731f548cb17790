from __future__ import annotations

import shutil

import pytest

from scripts import unasync


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    shutil.copytree(unasync.SOURCE, tmp_path / "_async")
    shutil.copytree(unasync.TWIN, tmp_path / "_sync")
    monkeypatch.setattr(unasync, "ROOT", tmp_path)
    monkeypatch.setattr(unasync, "SOURCE", tmp_path / "_async")
    monkeypatch.setattr(unasync, "TWIN", tmp_path / "_sync")
    monkeypatch.setattr(unasync, "tidied", lambda text, name: text)
    unasync.main(check=False)
    return tmp_path


def test_a_change_that_was_not_carried_over_is_noticed(elsewhere, capsys):
    with (elsewhere / "_async" / "leases.py").open("a") as module:
        module.write("\nasync def more() -> None: ...\n")
    assert unasync.main(check=True) == 1
    assert "leases.py is stale" in capsys.readouterr().out


def test_a_module_without_a_source_is_noticed(elsewhere, capsys):
    (elsewhere / "_sync" / "left_over.py").write_text("")
    assert unasync.main(check=True) == 1
    assert "left_over.py has no source" in capsys.readouterr().out


def test_a_rule_that_nothing_uses_is_noticed(elsewhere, capsys):
    (elsewhere / "_async" / "connections.py").unlink()
    unasync.main(check=False)
    assert "The rule for 'AsyncByteStream' is used nowhere" in capsys.readouterr().out
