from __future__ import annotations

import pytest

from redis_ledger.store.pauses import Pause, Pauses


class Looks:
    """Looks every quarter of a second: `.` a node that answers, `x` a silent one."""

    def __init__(self):
        self.at = 0.0
        self.pauses = Pauses(lambda: self.at)

    def see(self, node, pattern):
        for each in pattern:
            self.at += 0.25
            self.pauses.look(node, is_silent=each == "x")


@pytest.fixture
def looks():
    return Looks()


@pytest.mark.parametrize(
    ("pattern", "pause"),
    [
        ("....", None),
        (".xxx.", Pause(1.0, 0.0)),
        (".xx.", None),  # too short
        (".xxxxx....", Pause(2.25, 0.75)),
        (".xxxxx", Pause(1.25, 0.0)),  # it lasts still
        (".xxx.xxxx.", Pause(2.25, 0.0)),  # one after the other, with hardly anything between
        (".xxx...xxxx.", Pause(1.25, 0.0)),
        ("xxxxxx", Pause(1.25, 0.0)),  # since the first look
    ],
)
def test_a_pause_lasts_from_the_last_answer_to_the_next(looks, pattern, pause):
    looks.see("a", pattern)
    assert looks.pauses.last("a") == pause


def test_the_last_pause_of_any_node_counts_for_all_once_it_is_over(looks):
    looks.see("b", "..")
    looks.see("a", ".xxxxx")
    assert looks.pauses.last("b") is None
    looks.see("a", ".")
    assert looks.pauses.last("b") == looks.pauses.last("a") == Pause(1.5, 0.0)


def test_a_node_that_is_replaced_ends_its_pause(looks):
    looks.see("a", ".xxxxx")
    looks.pauses.forget("a")
    looks.at += 1
    assert looks.pauses.last("the one that took over") == Pause(2.25, 1.0)
