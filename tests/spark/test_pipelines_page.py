"""The page on pipelines runs as printed: programs, files and commands, in their order."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib import import_module

from tests.support.processes import ROOT, Serve

PAGE = "docs/howto/pipelines.md"
COMMAND = ["redis-ledger", "pipeline"]


def test_the_page_on_pipelines_runs_as_printed(spark, tmp_path, capsys, monkeypatch):
    # Given an empty broker with an object store
    home = tmp_path / "history"
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process", "--offload-home", home)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_LEDGER_URL", serve.urls[0])
    page = (ROOT / PAGE).read_text()
    names: dict[str, object] = {}
    expected, printed, stderr = re.findall(r"^ *print\(.*\)  # (.+)$", page, re.MULTILINE), [], ""
    try:
        for language, block in re.findall(r"^```(python|sh|text)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            # When the page's steps run
            if language == "python":
                exec(compile(block.replace("http://127.0.0.1:8080", serve.urls[0]), PAGE, "exec"), names)
                printed += capsys.readouterr().out.splitlines()
            elif block.startswith(" ".join(COMMAND)):
                _, _, name, *arguments = shlex.split(block, comments=True)
                assert import_module(f"redis_ledger.spark.pipelines.{name}").main(arguments) == 0
                stderr = capsys.readouterr().err
            elif language == "sh":
                subprocess.run(["sh", "-c", block], check=True)
            else:
                # Then jobs print the lines on the page
                assert comparable(stderr) == comparable(block)
    finally:
        serve.clean_up()
    # And programs print the output on the page
    assert printed == expected


def comparable(output: str) -> list[str]:
    """Removes rates and names with ids, which differ each time."""
    return [re.sub(r"\b[0-9a-f]{8}\b|[\d,.]+ \w+/s", "…", line) for line in output.splitlines()]
