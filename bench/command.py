"""What the commands of the benches have in common: their arguments, and what is said at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console

from bench import figures


def parser(module: str, text: str | None, names: Sequence[str]) -> argparse.ArgumentParser:
    """With the benches to be measured, and --markdown.  text: the module's own."""
    assert text is not None
    made = argparse.ArgumentParser(
        prog=f"python -m {module}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(names)}")
    made.add_argument("--markdown", action="store_true", help="put the latest figures into RESULTS.md")
    return made


def asked(parser: argparse.ArgumentParser, names: Sequence[str]) -> argparse.Namespace:
    """Ends the process for a bench that there is not."""
    found = parser.parse_args()
    if unknown := [name for name in found.names if name not in names]:
        parser.error(f"there is no bench {', '.join(unknown)}; choose of {', '.join(names)}")
    return found


def scaled(module: str, text: str | None, names: Sequence[str]) -> argparse.Namespace:
    """The same with --scale."""
    made = parser(module, text, names)
    made.add_argument("--scale", type=float, default=1.0, help="what part of it all; below 1 nothing is written")
    found = asked(made, names)
    if not 0 < found.scale <= 1:
        made.error("--scale is above 0, and at most 1")
    return found


def say_scaled(console: Console, measured: Sequence[figures.Figure], scale: float) -> None:
    console.print(figures.table(measured))
    if scale < 1:
        console.print("Only a part was done: these are no measurements, and nothing was written.")
    if missed := [f"{each.bench} {each.case} {each.metric}" for each in measured if each.is_met is False]:
        console.print(f"Goals missed: {', '.join(missed)}")


def show_markdown(module: str, begin: str = figures.BEGIN) -> int:
    if not figures.LATEST.exists():
        print(f"There are no figures yet; run python -m {module} first.", file=sys.stderr)
        return 1
    print(figures.write_page(begin=begin))
    return 0
