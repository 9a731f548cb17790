"""Compares the records of a topic with the expected ones: each exactly once and with the right values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from redis_ledger.app.tools.demo.flights import Flight


@dataclass(slots=True)
class Tally:
    """expected: expected flights.  seen: records found.  duplicates: surplus records.  losses: flights without a
    record.
        wrong: records with other values, or of unknown flights."""

    expected: int
    seen: int
    duplicates: int
    losses: int
    wrong: int

    @property
    def holds(self) -> bool:
        return self.seen == self.expected and not (self.duplicates or self.losses or self.wrong)


def tally(expected: Sequence[Flight], seen: Iterable[Any]) -> Tally:
    """expected: one value per flight.  seen: the values of a topic, in any order and form."""
    wanted = {value["flight"]: value for value in expected}
    times: Counter[int] = Counter()
    records = wrong = 0
    for value in seen:
        records += 1
        flight = value.get("flight") if isinstance(value, dict) else None
        if not isinstance(flight, int) or wanted.get(flight) != value:
            wrong += 1
        else:
            times[flight] += 1
    return Tally(
        expected=len(wanted),
        seen=records,
        duplicates=sum(count - 1 for count in times.values()),
        losses=len(wanted) - len(times),
        wrong=wrong,
    )


@dataclass(slots=True)
class Verdict:
    """The result of the check.  transactions: distinct transactions of the output records.  open: still open at the
    end.
    """

    topics: dict[str, Tally] = field(default_factory=dict)
    unacknowledged: int = 0
    transactions: int = 0
    torn: int = 0  # flights whose two outputs belong to different transactions
    unsettled: int = 0  # records of transactions that are still open

    @property
    def holds(self) -> bool:
        kept = all(each.holds for each in self.topics.values())
        return kept and not (self.unacknowledged or self.torn or self.unsettled)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}
