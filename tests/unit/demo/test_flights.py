"""The demo's input and the records it must become."""

from __future__ import annotations

import hashlib

import pytest

from redis_ledger.app.tools.demo import flights
from redis_ledger.app.tools.demo.worker import outputs


def test_the_input_is_the_published_file_byte_for_byte() -> None:
    named = flights.FILE.with_name("SOURCE.md").read_text()
    assert hashlib.sha256(flights.FILE.read_bytes()).hexdigest() in named


def test_a_flight_becomes_one_record_of_each_topic() -> None:
    first = flights.load(1)[0]
    assert first == {
        "flight": 0, "date": "2001/01/01 00:47", "delay": 66, "distance": 1750, "origin": "DTW", "destination": "LAS",
    }  # fmt: skip
    assert flights.to_delay(first) == {
        "flight": 0, "date": "2001/01/01 00:47", "origin": "DTW", "destination": "LAS", "delay": 66,
        "class": "very late",
    }  # fmt: skip
    assert flights.to_route(first) == {"flight": 0, "route": "DTW-LAS", "distance": 1750, "delay": 66}


def test_the_file_has_twenty_thousand_flights() -> None:
    assert [flight["flight"] for flight in flights.load(20_000)] == list(range(20_000))


@pytest.mark.parametrize(
    ("delay", "name"),
    [
        (-59, "early"),
        (-1, "early"),
        (0, "on time"),
        (14, "on time"),
        (15, "late"),
        (60, "very late"),
        (180, "hours late"),
    ],
)
def test_classes_begin_at_their_minute(delay: int, name: str) -> None:
    assert flights.delay_class(delay) == name


def test_sabotage_omits_exactly_one_output() -> None:
    three = flights.load(3)
    whole, lost = outputs(three), outputs(three, lose=True)
    assert {topic: len(records) for topic, records in whole.items()} == {flights.DELAYS: 3, flights.ROUTES: 3}
    assert {topic: len(records) for topic, records in lost.items()} == {flights.DELAYS: 3, flights.ROUTES: 2}
