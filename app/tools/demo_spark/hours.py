"""The Spark demo's computation: flights by hour and airport; each sum is written when its hour is closed.

    flights   {"flight": 0, "date": "2001/01/01 00:47", "delay": 66, "distance": 1750, "origin": "DTW", …}     key "DTW"
    hours     {"hour": "2001-01-01 00:00", "origin": "DTW", "flights": 1, "delay": 66, "late": 1}              key "DTW"

An hour is closed when the watermark, five days behind the latest flight, passes it.  A final flight far in the future
closes all hours except its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from redis_ledger.app.tools.demo.flights import Flight

FLIGHTS, HOURS = "flights", "hours"
PARTITIONS, PARTITIONS_OUT = 4, 2
LATE_MINUTES = 15  # definition of the U.S. Department of Transportation
WATERMARK = "5 days"
CLOSING: Flight = {"flight": -1, "date": "2001/12/31 00:00", "delay": 0, "distance": 0, "origin": "", "destination": ""}
COLUMNS = "flight int, date string, delay int, distance int, origin string, destination string"

Hour = dict[str, Any]
Key = tuple[str, str]


def key(flight: Flight) -> Key:
    """Returns hour and airport."""
    return f"{flight['date'][:13].replace('/', '-')}:00", flight["origin"]


def hours(flights: Iterable[Flight]) -> list[Hour]:
    """The expected sums, ordered by hour and airport."""
    sums: dict[Key, list[int]] = {}
    for flight in flights:
        held = sums.setdefault(key(flight), [0, 0, 0])
        held[0] += 1
        held[1] += flight["delay"]
        held[2] += flight["delay"] >= LATE_MINUTES
    return [
        {"hour": hour, "origin": origin, "flights": count, "delay": delay, "late": late}
        for (hour, origin), (count, delay, late) in sorted(sums.items())
    ]


def numbered(expected: Sequence[Hour], seen: Iterable[Any]) -> tuple[list[Flight], list[Any]]:
    """Adds to both the index of the expected row, which the demo's tally uses as its key; unknown rows have none."""
    places = {(each["hour"], each["origin"]): number for number, each in enumerate(expected)}

    def with_number(value: Any) -> Any:
        if not isinstance(value, dict) or not {"hour", "origin"} <= value.keys():
            return value
        return {"flight": places.get((value["hour"], value["origin"])), **value}

    return [with_number(each) for each in expected], [with_number(each) for each in seen]
