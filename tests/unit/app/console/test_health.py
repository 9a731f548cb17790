"""app/console/health: what a person would say of each state of things."""

from __future__ import annotations

import pytest

from redis_ledger.app.console.health import OF_A_KIND_MAX, BlockedPartition, ConsumerLag, Facts, LostPartition, findings
from redis_ledger.app.console.rendering import duration


def facts(**more):
    return Facts(**{"brokers": 2, "topics": 3, **more})


def held(**more):
    given = {"topic": "orders", "partition": 0, "records": 5, "transaction": "1-7", "owner": "", "since_ms": 40_000}
    return BlockedPartition(**{**given, **more})


def behind(**more):
    return ConsumerLag(**{"topic": "orders", "name": "billing", "kind": "shared", "lag": 0, **more})


def test_when_nothing_is_wrong_it_says_so():
    [only] = findings(facts())
    assert only.level == "good"
    assert only.text.startswith("No problems found: 2 brokers serve 3 topics")


def test_an_empty_log_says_what_to_do_next():
    [only] = findings(facts(topics=0, brokers=1))
    assert (only.level, only.link) == ("good", "/console/topics")


@pytest.mark.parametrize(("since_ms", "level"), [(4_999, "good"), (5_000, "look"), (29_999, "look"), (30_000, "bad")])
def test_a_transaction_that_holds_readers_up_gets_worse_with_time(since_ms, level):
    assert findings(facts(held=[held(since_ms=since_ms)]))[0].level == level


def test_a_transaction_is_one_sentence_however_much_it_holds_up():
    [only] = findings(facts(held=[held(), held(partition=1, records=7), held(topic="other", owner="")]))
    assert "transaction 1-7" in only.text
    assert "17 records" in only.text
    assert "orders and other topics" in only.text
    assert only.link == "/console/transaction?id=1-7"


@pytest.mark.parametrize(
    ("one", "is_said"),
    [
        ({"lag": 999}, False),
        ({"lag": 1_000}, True),
    ],
)
def test_who_is_behind(one, is_said):
    [only] = findings(facts(behind=[behind(**one)]))
    assert (only.level == "look") is is_said


def test_a_group_and_a_subscription_have_pages_of_their_own():
    found = findings(facts(behind=[behind(lag=2_000), behind(lag=3_000, kind="kafka", name="g")]))
    assert [each.link for each in found] == ["/console/group?name=g", "/console/subscription?topic=orders&name=billing"]


@pytest.mark.parametrize(
    ("given", "level", "word"),
    [
        ({"memory": 0.79}, "good", "No problems"),
        ({"memory": 0.8}, "look", "80%"),
        ({"memory": 0.97}, "bad", "97%"),
        ({"durability": "lossy"}, "look", "lose"),
        ({"durability": "unknown"}, "look", "unknown"),
        ({"durability": "disk"}, "good", "No problems"),
        ({"overdue": 3, "overdue_ms": 6_000}, "bad", "overdue"),
        ({"overdue": 3, "overdue_ms": 10}, "good", "No problems"),
        ({"unread": 2}, "look", "2 topics"),
        ({"open_brokers": 1}, "bad", "1 broker does not authenticate clients"),
        ({"open_brokers": 2}, "bad", "2 brokers do not authenticate clients"),
        ({"brokers": 0}, "bad", "No broker"),
    ],
)
def test_the_rest(given, level, word):
    first = findings(facts(**given))[0]
    assert first.level == level
    assert word in first.text


def test_the_worst_comes_first_and_many_of_a_kind_leave_room_for_the_others():
    behind_all = [behind(name=f"s{i}", lag=5_000 + i) for i in range(20)]
    held_all = [held(topic=f"t{i:02}", transaction=f"0-{i}", since_ms=40_000 + i) for i in range(20)]
    found = findings(facts(behind=behind_all, held=held_all, memory=0.99))
    assert [each.level for each in found] == ["bad"] * 5 + ["look"] * 4
    texts = [each.text for each in found]
    assert texts[0].startswith("Consumers of t19 are blocked: transaction 0-19"), "the oldest"
    assert (texts[OF_A_KIND_MAX], found[OF_A_KIND_MAX].link) == (
        "Open transactions block read_committed consumers of 17 more topics.", "/console/transactions",
    )  # fmt: skip
    assert texts[4].startswith("Redis uses 99%")
    assert texts[5] == "Subscription s19 lags by 5\u202f019 records on orders."
    assert (texts[8], found[8].link) == (
        "17 more subscriptions and groups lag by at least 1\u202f000 records.",
        "/console/groups",
    )


def test_many_transactions_that_hold_up_one_topic_are_one_sentence():
    many = [held(partition=i, transaction=f"0-{i}", since_ms=40_000 + i, owner=f"etl-{i}") for i in range(30)]
    [only] = findings(facts(held=many))
    assert only.text == (
        "Consumers of orders are blocked: transaction 0-29 of etl-29 has been open for 40\u202fs "
        "(29 newer transactions also open); 150 records not readable."
    )


def test_a_transaction_that_is_decided_and_does_not_end_holds_up_readers_too():
    [only] = findings(facts(held=[held(status="committing")]))
    assert "began 40\u202fs ago and is still committing; 5 records not readable" in only.text


def test_what_could_not_be_looked_at_is_not_called_well():
    [only] = findings(facts(is_cut=True))
    assert only.text.startswith("No problems found among the topics read")


def test_to_whom_nothing_is_shown_it_is_not_said_that_nothing_is_there():
    [only] = findings(facts(topics=0, sees_all=False))
    assert (only.level, only.link) == ("look", "")
    assert only.text == "2 brokers serve. There are no topics that you may describe (DESCRIBE on the topic)."
    [only] = findings(facts(sees_all=False))
    assert only.text.startswith("No problems found among your topics: 2 brokers serve 3 topics")


def test_what_redis_lost_is_named_with_its_offsets():
    lost = [LostPartition("orders", number, 40, 49) for number in range(5)]
    [only] = findings(facts(lost=lost, lost_ms=120_000))
    assert only.level == "bad"
    assert only.text == (
        f"Redis came back with older data {duration(120_000)} ago. 50 records lost, offsets of orders:0 (40 to 49), "
        "orders:1 (40 to 49), orders:2 (40 to 49) and 2 more partitions."
    )


def test_a_loss_without_records_says_so_and_an_old_one_is_not_shown():
    [only] = findings(facts(lost_ms=1_000))
    assert "Acknowledgements, topics or transactions are lost." in only.text
    assert findings(facts(lost_ms=100_000_000))[0].level == "good"
