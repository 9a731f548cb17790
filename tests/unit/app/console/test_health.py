"""app/console/health: what a person would say of each state of things."""

from __future__ import annotations

import pytest

from app.console.health import SENTENCES_MAX, Behind, Facts, Held, sentences


def facts(**more):
    return Facts(**{"brokers": 2, "topics": 3, **more})


def held(**more):
    given = {"topic": "orders", "partition": 0, "records": 5, "transaction": "1-7", "owner": "", "since_ms": 40_000}
    return Held(**{**given, **more})


def behind(**more):
    return Behind(**{"topic": "orders", "name": "billing", "kind": "shared", "lag": 0, "consumers": None, **more})


def test_when_nothing_is_wrong_it_says_so():
    [only] = sentences(facts())
    assert only.level == "good"
    assert only.text.startswith("All is well: 2 brokers serve 3 topics")


def test_an_empty_log_says_what_to_do_next():
    [only] = sentences(facts(topics=0, brokers=1))
    assert (only.level, only.link) == ("good", "/console/topics")


@pytest.mark.parametrize(("since_ms", "level"), [(4_999, "good"), (5_000, "look"), (29_999, "look"), (30_000, "bad")])
def test_a_transaction_that_holds_readers_up_gets_worse_with_time(since_ms, level):
    assert sentences(facts(held=[held(since_ms=since_ms)]))[0].level == level


def test_a_transaction_is_one_sentence_however_much_it_holds_up():
    [only] = sentences(facts(held=[held(), held(partition=1, records=7), held(topic="other", owner="")]))
    assert "transaction 1-7" in only.text
    assert "17 records" in only.text
    assert "orders and other topics" in only.text
    assert only.link == "/console/transaction?id=1-7"


@pytest.mark.parametrize(
    ("one", "is_said"),
    [
        ({"lag": 999}, False),
        ({"lag": 1_000}, True),
        ({"lag": 1, "consumers": 0}, True),
        ({"lag": 0, "consumers": 0}, False),
        ({"lag": 1, "consumers": 2}, False),
    ],
)
def test_who_is_behind(one, is_said):
    [only] = sentences(facts(behind=[behind(**one)]))
    assert (only.level == "look") is is_said


def test_a_group_and_a_subscription_have_pages_of_their_own():
    found = sentences(facts(behind=[behind(lag=2_000), behind(lag=3_000, kind="kafka", name="g")]))
    assert [each.link for each in found] == ["/console/group?name=g", "/console/subscription?topic=orders&name=billing"]


@pytest.mark.parametrize(
    ("given", "level", "word"),
    [
        ({"memory": 0.79}, "good", "well"),
        ({"memory": 0.8}, "look", "80%"),
        ({"memory": 0.97}, "bad", "97%"),
        ({"durability": "lossy"}, "look", "lose"),
        ({"durability": "unknown"}, "look", "unknown"),
        ({"durability": "disk"}, "good", "well"),
        ({"overdue": 3, "overdue_ms": 6_000}, "bad", "late"),
        ({"overdue": 3, "overdue_ms": 10}, "good", "well"),
        ({"unread": 2}, "look", "2 topics"),
        ({"brokers": 0}, "bad", "No broker"),
    ],
)
def test_the_rest(given, level, word):
    first = sentences(facts(**given))[0]
    assert first.level == level
    assert word in first.text


def test_the_worst_comes_first_and_there_are_not_too_many():
    many = [behind(name=f"s{i}", lag=5_000) for i in range(20)]
    found = sentences(facts(behind=many, memory=0.99))
    assert found[0].level == "bad"
    assert len(found) == SENTENCES_MAX
