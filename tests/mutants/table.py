"""The tables of mutants: their rows, and what each row claims about the tree."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class DoesNotApply(Exception):
    """The text of a mutant is not exactly once in its file."""


class Mutant(NamedTuple):
    """One planted bug.  effect: what a user would see.  tests: node ids, each of which must fail."""

    name: str
    effect: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]

    def planted_in(self, source: str) -> str:
        """Returns the changed source.  Raises DoesNotApply."""
        found = source.count(self.text)
        if found != 1:
            raise DoesNotApply(f"its text is {found} times in {self.file}, and has to be there once")
        return source.replace(self.text, self.replacement)


def load(folder: Path) -> list[Mutant]:
    """Returns the mutants of all tables in a folder.  Raises TypeError for a row with a missing or unknown field."""
    mutants = []
    for table in sorted(folder.glob("*.toml")):
        for name, row in tomllib.loads(table.read_text()).items():
            mutants.append(Mutant(name, **{**row, "tests": tuple(row.get("tests", ()))}))
    return mutants


def matching(mutants: Iterable[Mutant], patterns: Sequence[str]) -> list[Mutant]:
    """Returns the mutants with one of the names; all of them if there is no name."""
    return [each for each in mutants if not patterns or any(fnmatchcase(each.name, one) for one in patterns)]


def missing_tests(root: Path, mutant: Mutant) -> list[str]:
    """Returns the tests of a mutant that are not in the tree.  The parameters of a test are not compared."""
    missing = []
    for test in mutant.tests:
        file, _, name = test.partition("::")
        function = re.escape(name.partition("[")[0])
        path = root / file
        if not path.is_file() or not re.search(rf"^(async )?def {function}\(", path.read_text(), re.M):
            missing.append(test)
    return missing
