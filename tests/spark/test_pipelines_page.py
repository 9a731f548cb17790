"""The page on jobs over topics is followed as printed: programs, files and commands, in their order."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib import import_module

from tests.support.processes import ROOT, Serve

PAGE = "docs/howto/pipelines.md"
COMMAND = ["redis-ledger", "pipeline"]


def test_the_page_on_jobs_does_what_it_says(spark, tmp_path, capsys, monkeypatch):
    # Given a broker with a home of offloaded records, and nothing on it
    home = tmp_path / "history"
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process", "--offload-home", home)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDIS_LEDGER_URL", serve.urls[0])
    page = (ROOT / PAGE).read_text()
    names: dict[str, object] = {}
    expected, said, told = re.findall(r"^ *print\(.*\)  # (.+)$", page, re.MULTILINE), [], ""
    try:
        for language, block in re.findall(r"^```(python|sh|text)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            # When it is followed
            if language == "python":
                exec(compile(block.replace("http://127.0.0.1:8080", serve.urls[0]), PAGE, "exec"), names)
                said += capsys.readouterr().out.splitlines()
            elif block.startswith(" ".join(COMMAND)):
                _, _, name, *arguments = shlex.split(block, comments=True)
                assert import_module(f"redis_ledger.spark.pipelines.{name}").main(arguments) == 0
                told = capsys.readouterr().err
            elif language == "sh":
                subprocess.run(["sh", "-c", block], check=True)
            else:
                # Then jobs tell what the page shows
                assert comparable(told) == comparable(block)
    finally:
        serve.clean_up()
    # And programs print what it says
    assert said == expected


def comparable(told: str) -> list[str]:
    """Less what is another each time: speeds, and names made of ids."""
    return [re.sub(r"\b[0-9a-f]{8}\b|[\d,.]+ \w+/s", "…", line) for line in told.splitlines()]
