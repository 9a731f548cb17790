"""Compares what ran with what must pass, and prints the closing line that scripts/compat.py reads.

    allow_list.py judge FOLDER RESULTS [--quick]    FOLDER/tests.allow against RESULTS
    allow_list.py names FOLDER [--quick]            what must pass, one name a line
    allow_list.py show RESULTS                      every test of RESULTS with its outcome
    allow_list.py gorun FOLDER                      the quick names as a pattern for `go test -run`

tests.allow holds one test a line; `quick` behind a name puts it into the subset that CI runs; `#` begins a comment.

RESULTS is what `go test -json` prints, or lines of "PASS|FAIL|SKIP name seconds message", as the other runners write
them.  A test that must pass fails the run when it fails, skips itself, or does not appear.  A test that is not on the
list is reported, and fails nothing: add it to the list when it passes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

PASS, FAIL, SKIP = "PASS", "FAIL", "SKIP"


class Result(NamedTuple):
    outcome: str
    seconds: float
    message: str


def allowed(folder: Path, *, quick: bool) -> list[str]:
    """The names that must pass, in the order of the file.  Raises ValueError for a line that is none."""
    names = []
    for number, line in enumerate((folder / "tests.allow").read_text().splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[1:] not in ([], ["quick"]):
            raise ValueError(f"tests.allow:{number}: expected a name and perhaps `quick`")
        if words[0] in names:
            raise ValueError(f"tests.allow:{number}: {words[0]} is listed twice")
        if not quick or words[1:]:
            names.append(words[0])
    return names


def results(path: Path) -> dict[str, Result]:
    """The results by test name.  A name that ran twice keeps the worse one."""
    found: dict[str, Result] = {}
    said: dict[str, str] = {}
    for line in path.read_text(errors="replace").splitlines():
        name, result = from_go(line, said) if line.startswith("{") else from_plain(line)
        if name and result and (name not in found or result.outcome != PASS):
            found[name] = result
    return found


def from_go(line: str, said: dict[str, str]) -> tuple[str, Result | None]:
    """said: the first complaint of every test so far, `file_test.go:12: text`."""
    try:
        event = json.loads(line)
    except ValueError:  # a log line of the test that happens to begin with a brace
        return "", None
    name, outcome = event.get("Test", ""), str(event.get("Action", "")).upper()
    if outcome == "OUTPUT" and "_test.go:" in event.get("Output", ""):
        said.setdefault(name, event["Output"].strip())
    if outcome not in (PASS, FAIL, SKIP):
        return "", None
    return name, Result(outcome, float(event.get("Elapsed", 0)), "" if outcome == PASS else said.get(name, ""))


def from_plain(line: str) -> tuple[str, Result | None]:
    words = line.split(maxsplit=3)
    if len(words) < 3 or words[0] not in (PASS, FAIL, SKIP):
        return "", None
    return words[1], Result(words[0], float(words[2]), words[3] if len(words) > 3 else "")


def judge(folder: Path, path: Path, *, quick: bool) -> int:
    must, ran = allowed(folder, quick=quick), results(path)
    for name in must:
        if name not in ran:
            print(f"NOT RUN  {name}")
        elif ran[name].outcome == SKIP:
            print(f"SKIPPED  {name}: it is on the list, so it has to run. {ran[name].message}".rstrip())
        elif ran[name].outcome == FAIL:
            print(f"FAILED   {name} after {ran[name].seconds:.1f} s: {ran[name].message}".rstrip(": "))
    for name, result in ran.items():
        # A subtest belongs to the test that holds it, unless it is listed itself.
        if name not in must and "/" not in name and result.outcome != SKIP:
            print(f"not on the list, {'passes' if result.outcome == PASS else 'fails'}: {name}")
    passed = [name for name in must if name in ran and ran[name].outcome == PASS]
    skipped = [name for name, result in ran.items() if result.outcome == SKIP and name not in must]
    failed = len(must) - len(passed)
    print(f"{folder.name}: {len(passed)} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not must else 0


def gorun(folder: Path) -> str:
    """`^(A|B)$`.  Whole tests: kgo's ETL tests wait for ever when a pattern leaves out one of their subtests."""
    tops = {name.partition("/")[0] for name in allowed(folder, quick=True)}
    return f"^({'|'.join(sorted(tops))})$"


def main() -> int:
    parser = argparse.ArgumentParser(description="What ran against what must pass.")
    parser.add_argument("command", choices=["judge", "names", "show", "gorun"])
    parser.add_argument("folder", metavar="folder|results", type=Path)
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if asked.command == "show":
        for name, result in results(folder).items():
            print(f"{result.outcome} {name} {result.seconds:.2f} {result.message}".rstrip())
        return 0
    if asked.command == "judge":
        return judge(folder, asked.results, quick=asked.quick)
    print("\n".join(allowed(folder, quick=asked.quick)) if asked.command == "names" else gorun(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
