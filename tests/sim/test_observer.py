"""What is left to do: a group that has no offset on a partition has its first records still before it."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tests.sim.clients.context import INPUT, Context
from tests.sim.observer import Observer
from tests.sim.recorder import Recorder


class Answers(Observer):
    """A broker with one record in each partition of the input, and the group `rdk` with an offset on some."""

    def __init__(self, offsets: dict[int, int]) -> None:
        recorder = Recorder("run", lambda event: None)
        super().__init__(None, recorder, Context("run", recorder, random.Random(0), [], "", asyncio.Event(), ""))  # type: ignore[arg-type]
        self._groups = {"rdk": INPUT}
        self._offsets = offsets

    async def call(self, method: str, path: str, body: Any = None, broker: str = "b0") -> Any:
        if path.endswith("max_records=1"):
            return {"records": [{}]}
        if path.endswith("/subscriptions"):
            return {
                "subscriptions": [{"name": "rdk"}] if self._offsets and path == f"/topics/{INPUT}/subscriptions" else []
            }
        if path.endswith("/subscriptions/rdk"):
            return {"backlog": 0, "cursors": [{"partition": p, "mark_delete": o - 1} for p, o in self._offsets.items()]}
        if path.endswith(":stats"):
            return {"total": {"records": 0}}
        return {"transactions": []} if path.startswith("/transactions") else {"partition_states": []}


@pytest.mark.parametrize(
    ("offsets", "left"),
    [({}, [0, 1, 2]), ({0: 1}, [1, 2]), ({0: 1, 1: 4, 2: 0}, [2]), ({0: 1, 1: 1, 2: 1}, [])],
    ids=["no offset", "on one partition", "at the first record", "everywhere"],
)
async def test_partitions_on_which_a_group_has_not_begun_are_left(offsets, left):
    observer = Answers(offsets)
    assert await observer.left() == {f"first records of {INPUT}-{partition} for rdk": 1 for partition in left}
    await observer.close()
