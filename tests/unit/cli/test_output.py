"""Tables print cell contents unchanged and escape control characters."""

from __future__ import annotations

import pytest

from redis_ledger.app.cli import output


@pytest.mark.parametrize(
    ("cell", "seen"),
    [
        ("[/nope] [bold]b[/bold] :smile:", "[/nope] [bold]b[/bold] :smile:"),
        ("pip install 'redis-ledger[offload]'", "pip install 'redis-ledger[offload]'"),
        ("two\nlines", r"two\nlines"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("grüß 你好", "grüß 你好"),
    ],
)
def test_cell_is_printed_unchanged(cell, seen, capsys):
    output.table(["key", "value"], [("k", cell)])
    assert f"│ k   │ {seen} " in capsys.readouterr().out


def test_line_is_complete_in_a_pipe_and_fits_a_terminal(capsys, monkeypatch):
    name = "n" * 200
    monkeypatch.delenv("COLUMNS", raising=False)
    output.table(["topic", "partitions"], [(name, 1)])
    assert name in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    output.table(["topic", "partitions"], [(name, 1)])
    assert {len(line) for line in capsys.readouterr().out.splitlines()} == {80}
