"""The guide's programs run as printed."""

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


def test_the_python_of_the_guide_prints_the_output_on_the_page(spark, secured, tmp_path):
    # Given an empty broker, and a secured one whose administrator follows the page
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    printed = io.StringIO()
    try:
        code, expected = program(PAGE, serve.urls[0])
        secured.topic("payments")
        commands = "\n".join(blocks(PAGE, "sh")).splitlines()
        for line in (line for line in commands if line.startswith(("redis-ledger tokens ", "redis-ledger acls "))):
            words, _, file = line.partition(" > ")
            output = secured.command(*shlex.split(words, comments=True)[1:])
            if file:
                (secured.folder / Path(file).name).write_text(output)
        for quoted, here in {
            "https://ledger-1:8080": secured.url,
            "/etc/ledger/token": secured.folder / "token",
        }.items():
            code = code.replace(quoted, str(here))
        code = code.replace("/etc/ledger/ca.pem", secured.ca)
        # When the page's programs run in this session
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "use-spark.md", "exec"), {})
    finally:
        serve.clean_up()
    # Then they print the output on the page
    assert printed.getvalue().splitlines() == expected


def test_the_page_on_offloading_runs_as_printed(spark, tmp_path, capsys):
    # Given a broker with an object store, and the page's programs and commands in their order
    home = tmp_path / "history"
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process", "--offload-home", home)
    page = (ROOT / "docs" / "howto" / "offload.md").read_text()
    names: dict[str, object] = {}
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", page, re.MULTILINE)
    printed = []
    try:
        for language, block in re.findall(r"^```(python|sh)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            text = block.replace("http://127.0.0.1:8080", serve.urls[0]).replace("/var/lib/ledger-history", str(home))
            # When they run
            if language == "python":
                exec(compile(text, "offload.md", "exec"), names)
                printed += capsys.readouterr().out.splitlines()
            elif text.startswith("redis-ledger pipeline offload"):
                assert offload.main([*shlex.split(text)[3:], "--bootstrap", serve.urls[0]]) == 0
                stderr = capsys.readouterr().err
                # Then the job prints the lines on the page, except for sizes and rates
                quoted = re.search(r"^```text\n(offload: .*?)^```$", page, re.DOTALL | re.MULTILINE)
                assert quoted is not None
                assert without_sizes(stderr) == without_sizes(quoted[1])
    finally:
        serve.clean_up()
    # And every program prints the output on the page
    assert printed == expected


def without_sizes(output: str) -> list[str]:
    """Sorted: partitions are offloaded concurrently."""
    return sorted(re.sub(r"[\d.]+ k?B(/s)?|\d of \d", "…", line) for line in output.splitlines())
