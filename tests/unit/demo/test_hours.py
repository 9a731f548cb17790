"""The Spark demo's job, and what it believes of what Spark keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redis_ledger.app.tools.demo.flights import Flight, load
from redis_ledger.app.tools.demo.tally import Tally, tally
from redis_ledger.app.tools.demo_spark import committed, hours, plan
from redis_ledger.app.tools.demo_spark.__main__ import rows
from redis_ledger.app.tools.demo_spark.check import Verdict
from redis_ledger.app.tools.demo_spark.run import Outcome
from redis_ledger.app.tools.demo_spark.stream_progress import NONE, StreamProgress


def flight(date: str, origin: str, delay: int) -> Flight:
    return {"flight": 0, "date": date, "origin": origin, "destination": "LAS", "delay": delay, "distance": 1}


def test_flights_are_added_up_by_hour_and_airport() -> None:
    assert hours.hours(
        [flight("2001/01/01 00:47", "DTW", 66), flight("2001/01/01 01:00", "DTW", 15),
         flight("2001/01/01 00:00", "DTW", 14), flight("2001/01/01 00:59", "ABE", -5)]
    ) == [
        {"hour": "2001-01-01 00:00", "origin": "ABE", "flights": 1, "delay": -5, "late": 0},
        {"hour": "2001-01-01 00:00", "origin": "DTW", "flights": 2, "delay": 80, "late": 1},
        {"hour": "2001-01-01 01:00", "origin": "DTW", "flights": 1, "delay": 15, "late": 1},
    ]  # fmt: skip


def test_closing_flight_is_later_than_the_watermark() -> None:
    assert hours.CLOSING["date"] > load(20_000)[-1]["date"].replace("/03/", "/04/")


def test_duplicate_lost_and_unknown_hours_are_distinguished() -> None:
    expected = hours.hours(load(50))
    wrong = {**expected[5], "delay": 999}
    seen = [*expected[1:5], expected[2], wrong, *expected[6:], {"hour": "?", "origin": "?"}, None]
    found = tally(*hours.numbered(expected, seen))
    assert (found.duplicates, found.losses, found.wrong) == (1, 2, 3)
    assert tally(*hours.numbered(expected, reversed(expected))).holds


def test_only_files_that_the_sink_has_committed_count(tmp_path: Path) -> None:
    log = tmp_path / committed.LOG
    log.mkdir()

    def entry(name: str) -> str:
        return json.dumps({"path": f"file://{tmp_path}/{name}", "size": 1, "isDir": False, "action": "add"})

    (log / "0").write_text(f"v1\n{entry('old')}")
    (log / "9.compact").write_text(f"v1\n{entry('a%20b')}\n{entry('c')}")
    (log / "10").write_text(f"v1\n{entry('d')}")
    (log / ".10.crc").write_text("")
    (log / "11").write_text("v1")
    (tmp_path / "cut-short").write_text("")
    assert [path.name for path in committed.files(tmp_path)] == ["a b", "c", "d"]
    assert committed.files(tmp_path / "nowhere") == []


def test_stream_progress_is_that_of_the_last_completed_batch(tmp_path: Path) -> None:
    progress = StreamProgress(tmp_path)
    assert (progress.batch, progress.offsets) == (NONE, 0)
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    for batch in range(12):
        (tmp_path / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{{"flights": {{"0": {batch}, "1": 100}}}}')
    for batch in range(11):
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
    (tmp_path / "commits" / ".10.crc").write_text("")
    assert (progress.batch, progress.offsets) == (10, 110)


@pytest.mark.parametrize("point", ["written", "committed"])
def test_a_driver_is_killed_on_both_sides_of_a_commit(point: str) -> None:
    assert [kill.victim for kill in plan.ALL if kill.point == point] == ["driver"]


def test_new_driver_gets_its_pause_point() -> None:
    points = [plan.next_point(plan.ALL[number:]) for number in range(len(plan.ALL) + 1)]
    assert points == ["", "written", "committed", "", "", ""]
    assert [kill.at for kill in plan.ALL] == sorted(kill.at for kill in plan.ALL)


def test_summary_marks_broken_promises() -> None:
    def bad(topic: Tally, code: int = 0) -> list[str]:
        verdict = Verdict(flights=Tally(11, 11, 0, 0, 0), topic=topic, parquet=Tally(9, 9, 0, 0, 0), unsettled=0)
        kills = dict.fromkeys(("driver", "written", "committed", "broker", "redis"), 1)
        reports = {
            "hours": {"code": code, "file": "hours.html"},
            "offload": {"code": 0, "files": 4, "records": 11, "bytes": 99},
        }
        outcome = Outcome(10, 2, kills, 3, verdict.as_json(), reports, 1.5, verdict.holds and not code)
        return [name for name, _, is_bad in rows(outcome) if is_bad]

    assert bad(Tally(9, 9, 0, 0, 0)) == []
    assert bad(Tally(9, 10, 1, 0, 0), code=1) == ["seen", "duplicates", "reports"]
    assert bad(Tally(9, 8, 0, 1, 0)) == ["seen", "losses"]
