"""Figures: one line each in results/latest.jsonl, a table on the terminal, a table in RESULTS.md.

    {"bench": "append_raw", "case": "64KiB", "metric": "mb_per_s", "value": 231.5, "unit": "MB/s", "goal": 200,
     "durability": "process"}

A bench replaces its own lines and keeps those of others, so that it can be measured again alone.  goal null: the figure
explains another one, or has a higher durability than the goal is set for.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

HERE = Path(__file__).resolve().parent
LATEST = HERE / "results" / "latest.jsonl"
PAGE = HERE / "RESULTS.md"
BEGIN, END = "<!-- figures: written by python -m bench --markdown -->", "<!-- end of figures -->"
DELAY_BEGIN = "<!-- figures: written by python -m bench.delay --markdown -->"
SPARK_BEGIN = "<!-- figures: written by python -m bench.spark --markdown -->"
GROWTH_BEGIN = "<!-- figures: written by python -m bench.growth --markdown -->"
SURVIVE_BEGIN = "<!-- figures: written by python -m bench.survive --markdown -->"
ACKS_BEGIN = "<!-- figures: written by python -m bench.acks --markdown -->"
TXN_BEGIN = "<!-- figures: written by python -m bench.txn --markdown -->"
SIDECAR_BEGIN = "<!-- figures: written by python -m bench.sidecar --markdown -->"
# Benches with tables of their own.
DELAY = ("schedule", "fire", "lateness", "index", "restart", "burst")
SPARK = ("spark_read", "spark_write", "offload", "offload_read")
GROWTH = (
    "workers", "wide_fetch", "upkeep", "clients_1000", "overview", "script_cpu_ms", "full_redis", "memory",
)  # fmt: skip
SURVIVE = ("unavailable",)
TXN = ("sends_acks", "empty", "batching", "start", "wake", "txn_bytes")
ACKS = ("receive_ack", "key_shared", "ack_batch", "holes")
SIDECAR = ("sidecar",)
_APART = {
    DELAY_BEGIN: DELAY, SPARK_BEGIN: SPARK, GROWTH_BEGIN: GROWTH, SURVIVE_BEGIN: SURVIVE, TXN_BEGIN: TXN,
    ACKS_BEGIN: ACKS, SIDECAR_BEGIN: SIDECAR,
}  # fmt: skip

MORE_IS_BETTER = "/s"  # suffix of units where more is better; for all others less is better
AT_LEAST = "min_"  # prefix of metrics that must not be below their goal
COSTS = (
    "client_cpu_s",
    "broker_cpu_s",
    "redis_cpu_s",
    "measured_s",
)  # shown in tables beside the figure of the same run


class Figure(NamedTuple):
    bench: str
    case: str
    metric: str
    value: float
    unit: str
    goal: float | None
    durability: str

    @property
    def is_met(self) -> bool | None:
        """None when there is no goal."""
        if self.goal is None:
            return None
        is_more = self.unit.endswith(MORE_IS_BETTER) or self.metric.startswith(AT_LEAST)
        return self.value >= self.goal if is_more else self.value <= self.goal


def read(path: Path = LATEST) -> list[Figure]:
    if not path.exists():
        return []
    return [Figure(**json.loads(line)) for line in path.read_text().splitlines() if line]


def replace(figures: Iterable[Figure], path: Path = LATEST) -> None:
    """Writes these figures to the file, in place of all lines of their benches."""
    new = list(figures)
    measured = {figure.bench for figure in new}
    kept = [figure for figure in read(path) if figure.bench not in measured]
    lines = [json.dumps(figure._asdict()) for figure in sorted(kept + new, key=lambda figure: figure.bench)]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Atomic: a reader never sees a partial file.
    fresh = path.with_suffix(".tmp")
    fresh.write_text("".join(f"{line}\n" for line in lines))
    os.replace(fresh, path)


def number(value: float) -> str:
    """Formats with the significant digits and thousands apart: 41 234, 231.5, 0.87."""
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", " ")


def verdict(figure: Figure) -> str:
    return {None: "", True: "met", False: "missed"}[figure.is_met]


class Row(NamedTuple):
    """A figure, and the cost of its run: seconds of CPU per second, by process."""

    figure: Figure
    cpu: str


def rows(figures: Sequence[Figure]) -> list[Row]:
    shared = {(f.bench, f.case, f.durability, f.metric): f.value for f in figures if f.metric in COSTS}

    def cpu(figure: Figure) -> str:
        seconds, *used = (
            shared.get((figure.bench, figure.case, figure.durability, name)) for name in (COSTS[-1], *COSTS[:-1])
        )
        if not seconds:
            return ""
        return "/".join("–" if each is None else f"{100 * each / seconds:.0f}" for each in used)

    return [Row(figure, cpu(figure)) for figure in figures if figure.metric not in COSTS]


def table(figures: Sequence[Figure]) -> Table:
    rows_table = Table("bench", "case", "durability", "metric", box=None, pad_edge=False)
    for heading in ("value", "goal"):
        rows_table.add_column(heading, justify="right")
    rows_table.add_column("")
    rows_table.add_column("CPU %: client/broker/redis", justify="right")
    colours = {"": "", "met": "green", "missed": "red"}
    for figure, cpu in rows(figures):
        word = verdict(figure)
        goal = "" if figure.goal is None else number(figure.goal)
        outcome = f"[{colours[word]}]{word}[/]" if word else ""
        rows_table.add_row(
            figure.bench, figure.case, figure.durability, figure.metric, number(figure.value), goal, outcome, cpu
        )
    return rows_table


def markdown(figures: Sequence[Figure], when: str, machine: str, code: str) -> str:
    lines = [
        f"Measured {when} on {machine}; code: {code}.",
        "",
        "| bench | case | durability | metric | value | goal | | CPU %: client/broker/redis |",
        "|---|---|---|---|--:|--:|---|--:|",
    ]
    for figure, cpu in rows(figures):
        goal = "" if figure.goal is None else number(figure.goal)
        lines.append(
            f"| `{figure.bench}` | `{figure.case}` | {figure.durability} | `{figure.metric}` | {number(figure.value)} |"
            f" {goal} | {verdict(figure)} | {cpu} |"
        )
    return "\n".join(lines)


def write_page(path: Path = PAGE, latest: Path = LATEST, begin: str = BEGIN) -> str:
    """Renders the latest figures into the page, between the markers that `begin` names, and returns the text."""
    when = datetime.fromtimestamp(latest.stat().st_mtime, UTC).strftime("%Y-%m-%d")
    apart = [bench for benches in _APART.values() for bench in benches]
    selected = [figure for figure in read(latest) if _belongs(figure.bench, begin, apart)]
    text = markdown(selected, when, machine(), code_state())
    page = path.read_text()
    before, _, rest = page.partition(begin)
    assert END in rest, f"{path} has lost its markers"
    after = rest.partition(END)[2]
    path.write_text(f"{before}{begin}\n\n{text}\n\n{END}{after}")
    return text


def _belongs(bench: str, begin: str, apart: Sequence[str]) -> bool:
    return bench in _APART[begin] if begin in _APART else bench not in apart


def machine() -> str:
    """Cores, memory and processor."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = names[0] if names else name
    return f"{os.cpu_count()} cores ({name}), {gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}"


def code_state() -> str:
    """Returns the commit, and whether there are uncommitted changes."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    if not commit:
        return "not a checkout"
    return f"{commit} with changes" if git("status", "--porcelain") else commit
