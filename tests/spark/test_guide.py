"""The guide's program runs as printed."""

from __future__ import annotations

import contextlib
import io

from tests.support.pages import program
from tests.support.serving import ROOT, Serve


def test_the_python_of_the_guide_prints_what_the_guide_says(spark, tmp_path):
    # Given a broker with nothing on it
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    said = io.StringIO()
    try:
        code, expected = program(ROOT / "docs" / "howto" / "use-spark.md", serve.urls[0])
        # When the page is run in this session
        with contextlib.redirect_stdout(said):
            exec(compile(code, "use-spark.md", "exec"), {})
    finally:
        serve.clean_up()
    # Then it prints what it says
    assert said.getvalue().splitlines() == expected
