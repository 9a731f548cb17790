"""Histories of overlapping requests, by fixed seeds, agree with the model; and the checker finds what does not."""

from __future__ import annotations

import asyncio

import pytest

from tests.model.answers import Answer
from tests.model.checker import Call, Event, check
from tests.model.driver import history
from tests.model.steps import Step
from tests.support.redis_servers import Server

SEEDS = 12  # a tenth to a third of a second of CPU time each


@pytest.mark.parametrize("first", range(1, 1 + SEEDS, 4))
def test_histories_agree_with_the_model(redis: Server, first: int) -> None:
    for seed in range(first, first + 4):
        outcome = asyncio.run(history(redis.url, seed))
        program = "\n".join(map(str, outcome.program))
        assert outcome.failure is None, f"python -m tests.model --seed {seed}\n{outcome.failure.call}\n{program}"


def _events(*given: tuple[str, dict[str, object], Answer | None]) -> list[Event]:
    """One operation after another; an answer None was lost."""
    events = []
    for number, (operation, arguments, answer) in enumerate(given):
        call = Call(number, operation, arguments, 0, answer or Answer())
        events += [Event("invoke", call, 0), Event("gone" if answer is None else "return", call, 0)]
    return events


def _produced(value: str, base: int | None, **more: object) -> tuple[str, dict[str, object], Answer | None]:
    given = {"topic": "a", "partition": 0, "values": (value,), **more}
    return "produce", given, None if base is None else Answer("ok", base)


def _fetched(*records: tuple[int, str]) -> tuple[str, dict[str, object], Answer | None]:
    return "fetch", {"topic": "a", "partition": 0, "committed": True}, Answer("ok", list(records))


CREATED = ("create_topic", {"topic": "a", "partitions": 1, "buffer": "marker", "bytes_max": 1 << 20}, Answer("ok"))


@pytest.mark.parametrize("read", [[], [(0, "lost")]])
def test_checker_accepts_both_outcomes_of_a_lost_answer(read: list[tuple[int, str]]) -> None:
    assert check(_events(CREATED, _produced("lost", None), _fetched(*read))) is None


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([_produced("a", 0), _fetched()], id="an acknowledged record is lost"),
        pytest.param([_produced("a", 0), _fetched((0, "a"), (1, "a"))], id="a record is doubled"),
        pytest.param([_produced("a", 0), _produced("b", 0)], id="an offset is given out twice"),
        pytest.param([_produced("a", None), _fetched(), _fetched((0, "a"))], id="a lost request takes effect later"),
    ],
)
def test_checker_rejects(history: list[tuple[str, dict[str, object], Answer | None]]) -> None:
    assert check(_events(CREATED, *history)) is not None


def test_step_that_names_what_does_not_exist_is_left_out(redis: Server) -> None:
    program = [Step(1, "commit", {"txn": "t0", "outcome": "committed"}), Step(2, "list_topics", {})]
    outcome = asyncio.run(history(redis.url, 1, program))
    assert [step.number for step in outcome.program] == [2]
