"""The demo's computation for one flight: the input record and the two expected output records.

    flights   {"flight": 0, "date": "2001/01/01 00:47", "delay": 66, "distance": 1750, "origin": "DTW", …}
    delays    {"flight": 0, "date": …, "origin": …, "destination": …, "delay": 66, "class": "very late"}     key "0"
    routes    {"flight": 0, "route": "DTW-LAS", "distance": 1750, "delay": 66}                         key "DTW-LAS"

`flight` is the row number in the file (data/SOURCE.md), so that every output can be traced to its input.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "data" / "flights-20k.json"
FLIGHTS, DELAYS, ROUTES = "flights", "delays", "routes"
SUBSCRIPTION = "transform"
PARTITIONS = 4

Flight = dict[str, Any]

# Minimum delay of each class in minutes; the U.S. Department of Transportation counts 15 minutes as delayed.
CLASSES = ((180, "hours late"), (60, "very late"), (15, "late"), (0, "on time"))


def load(records: int) -> list[Flight]:
    """The first rows of the file with their numbers."""
    return [{"flight": number, **row} for number, row in enumerate(json.loads(FILE.read_text())[:records])]


def delay_class(delay_minutes: int) -> str:
    return next((name for least, name in CLASSES if delay_minutes >= least), "early")


def to_delay(flight: Flight) -> Flight:
    return {
        **{name: flight[name] for name in ("flight", "date", "origin", "destination", "delay")},
        "class": delay_class(flight["delay"]),
    }


def route(flight: Flight) -> str:
    return f"{flight['origin']}-{flight['destination']}"


def to_route(flight: Flight) -> Flight:
    return {
        "flight": flight["flight"],
        "route": route(flight),
        "distance": flight["distance"],
        "delay": flight["delay"],
    }
