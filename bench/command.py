"""Common arguments of the benches' commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import figures


def parser(module: str, text: str | None, names: Sequence[str]) -> argparse.ArgumentParser:
    """Has names of benches, and --markdown.  text: the docstring of the module."""
    assert text is not None
    made = argparse.ArgumentParser(
        prog=f"python -m {module}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(names)}")
    made.add_argument("--markdown", action="store_true", help="put the latest figures into RESULTS.md")
    return made


def parse(parser: argparse.ArgumentParser, names: Sequence[str]) -> argparse.Namespace:
    """Ends the process with a usage error for an unknown bench."""
    found = parser.parse_args()
    if unknown := [name for name in found.names if name not in names]:
        parser.error(f"unknown bench: {', '.join(unknown)}; choose from {', '.join(names)}")
    return found


def scaled(module: str, text: str | None, names: Sequence[str]) -> argparse.Namespace:
    """Parses the command line of a command with --scale."""
    made = parser(module, text, names)
    made.add_argument("--scale", type=float, default=1.0, help="fraction of the full size; below 1 nothing is written")
    found = parse(made, names)
    if not 0 < found.scale <= 1:
        made.error("--scale must be above 0 and at most 1")
    return found


def show_markdown(module: str, begin: str = figures.BEGIN) -> int:
    if not figures.LATEST.exists():
        print(f"There are no figures yet; run python -m {module} first.", file=sys.stderr)
        return 1
    print(figures.write_page(begin=begin))
    return 0
