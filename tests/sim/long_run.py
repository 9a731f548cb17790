"""A long run: chapters on the same servers until there were enough transactions and kills, then a survey.

    chapter 0     chapter 1     chapter 2     ...     survey
    ├─ checked ───┼─ checked ───┼─ checked ───┤       every log of every chapter is what it was when the chapter ended;
                                                      then topics are deleted or expire, and keys are counted

Each chapter has topics and clients of its own, a dense schedule (schedule.py), and is checked when it ends.  So memory
holds one history at a time, and of the earlier ones a digest for each partition.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from tests.sim.chapter import Chapter
from tests.sim.checker import check, explain
from tests.sim.clients.context import PARTITIONS
from tests.sim.digest import digests
from tests.sim.history import History
from tests.sim.machine_clock import MachineClock
from tests.sim.processes import Processes
from tests.sim.rules.finding import Finding
from tests.sim.run import started
from tests.sim.schedule import KILLS, Schedule, schedule

BAD_CHAPTERS_MAX = 3


class Goal(NamedTuple):
    transactions: int
    kills: int


class Totals(NamedTuple):
    """transactions: those whose outcome a client knows.  kills: of brokers and Redis servers, and promotions that were
    asked for.  promotions: of any cause."""

    transactions: int = 0
    kills: int = 0
    promotions: int = 0
    operations: int = 0

    def plus(self, other: Totals) -> Totals:
        return Totals(*(mine + its for mine, its in zip(self, other, strict=True)))

    def reaches(self, goal: Goal) -> bool:
        return self.transactions >= goal.transactions and self.kills >= goal.kills

    def __str__(self) -> str:
        return f"{self.transactions} transactions, {self.kills} kills, {self.promotions} promotions"


def totals(history: History) -> Totals:
    return Totals(
        sum(txn.outcome in ("committed", "aborted") for txn in history.txns.values()),
        sum(note["fault"] in KILLS and note["phase"] == "begin" for note in history.notes("fault")),
        len(history.notes("promotion")),
        sum(each.is_ok for each in history.operations),
    )


class LongRun:
    """Prints a line for each chapter, and what the rules find."""

    def __init__(self, seed: int, seconds: float, topology: str, durability: str, goal: Goal, folder: Path) -> None:
        self._seed, self._seconds, self._goal, self._folder = seed, seconds, goal, folder
        self._topology, self._durability = topology, durability
        self._digests: list[dict[tuple[str, int], str]] = []
        self.totals, self.findings = Totals(), list[Finding]()

    async def go(self) -> None:
        first, bad, number = self._plan(0), 0, 0
        began_s = time.monotonic()
        print(f"seed {self._seed}: {first.world}", flush=True)
        async with started(first, self._folder) as (processes, clock):
            while not self.totals.reaches(self._goal) and bad < BAD_CHAPTERS_MAX:
                bad += await self._chapter(number, processes, clock)
                number += 1
            await self._survey(number, processes, clock)
        took_s = time.monotonic() - began_s
        print(f"seed {self._seed}: {number} chapters, {self.totals}, {took_s:.0f} s, {len(self.findings)} findings")

    def _plan(self, number: int) -> Schedule:
        return schedule(
            self._seed, self._seconds, topology=self._topology, durability=self._durability, chapter=number,
            is_dense=True,
        )  # fmt: skip

    async def _chapter(self, number: int, processes: Processes, clock: MachineClock) -> bool:
        """Returns whether something was found."""
        plan, began_s = self._plan(number), time.monotonic()
        chapter = Chapter(plan, processes, clock)
        try:
            await chapter.go()
        except BaseException:
            chapter.save(self._folder / f"history{plan.suffix}.jsonl")
            raise
        history = chapter.history()
        self._digests.append(digests(history, chapter.topics, PARTITIONS))
        self.totals = self.totals.plus(totals(history))
        return self._judge(chapter, history, f"chapter {number}, {time.monotonic() - began_s:.0f} s")

    async def _survey(self, number: int, processes: Processes, clock: MachineClock) -> None:
        """Reads all logs again, deletes the topics of all chapters but the last, and waits for retention."""
        plan = self._plan(number)
        chapter = Chapter(plan._replace(workers=(), faults=(), seconds=0.0), processes, clock)
        await chapter.survey(self._digests)
        self._judge(chapter, chapter.history(), "survey")

    def _judge(self, chapter: Chapter, history: History, what: str) -> bool:
        found = check(history)
        print(f"{what}: {self.totals}, {len(found) or 'no'} findings", flush=True)
        for line in explain(found, history):
            print(f"    {line}", flush=True)
        if found:
            path = self._folder / f"history{chapter.plan.suffix}.jsonl"
            chapter.save(path)
            print(f"    history: {path}", flush=True)
        self.findings += found
        return bool(found)
