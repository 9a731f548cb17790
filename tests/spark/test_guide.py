"""The guide's program runs as printed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from redis_ledger.spark.pipelines import offload
from tests.support.doc_pages import blocks, program
from tests.support.processes import ROOT, Serve

PAGE = ROOT / "docs" / "howto" / "use-spark.md"


def test_the_python_of_the_guide_prints_what_the_guide_says(spark, secured, tmp_path):
    # Given a broker with nothing on it, and a secured one whose administrator does what the page says
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    said = io.StringIO()
    try:
        code, expected = program(PAGE, serve.urls[0])
        secured.topic("payments")
        told = "\n".join(blocks(PAGE, "sh")).splitlines()
        for line in (line for line in told if line.startswith(("redis-ledger tokens ", "redis-ledger acls "))):
            words, _, file = line.partition(" > ")
            printed = secured.command(*shlex.split(words, comments=True)[1:])
            if file:
                (secured.folder / Path(file).name).write_text(printed)
        for shown, here in {
            "https://ledger-1:8080": secured.url,
            "/etc/ledger/token": secured.folder / "token",
        }.items():
            code = code.replace(shown, str(here))
        code = code.replace("/etc/ledger/ca.pem", secured.ca)
        # When the page is run in this session
        with contextlib.redirect_stdout(said):
            exec(compile(code, "use-spark.md", "exec"), {})
    finally:
        serve.clean_up()
    # Then it prints what it says
    assert said.getvalue().splitlines() == expected


def test_the_page_on_offloading_does_what_it_says(spark, tmp_path, capsys):
    # Given a broker with a home of offloaded records, and the page's programs and commands in their order
    home = tmp_path / "history"
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process", "--offload-home", home)
    page = (ROOT / "docs" / "howto" / "offload.md").read_text()
    names: dict[str, object] = {}
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", page, re.MULTILINE)
    said = []
    try:
        for language, block in re.findall(r"^```(python|sh)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            text = block.replace("http://127.0.0.1:8080", serve.urls[0]).replace("/var/lib/ledger-history", str(home))
            # When it is followed
            if language == "python":
                exec(compile(text, "offload.md", "exec"), names)
                said += capsys.readouterr().out.splitlines()
            elif text.startswith("redis-ledger pipeline offload"):
                assert offload.main([*shlex.split(text)[3:], "--bootstrap", serve.urls[0]]) == 0
                told = capsys.readouterr().err
                # Then the job tells what the page shows, but for sizes and speeds
                shown = re.search(r"^```text\n(offload: .*?)^```$", page, re.DOTALL | re.MULTILINE)
                assert shown is not None
                assert without_sizes(told) == without_sizes(shown[1])
    finally:
        serve.clean_up()
    # And everything prints what it says
    assert said == expected


def without_sizes(told: str) -> list[str]:
    """In any order: partitions are offloaded side by side."""
    return sorted(re.sub(r"[\d.]+ k?B(/s)?|\d of \d", "…", line) for line in told.splitlines())
