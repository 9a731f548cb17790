"""What an administrator may ask for, decided before anything is done; and many small jobs, a few at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from redis_ledger.broker.topics.configs import (
    BROKER,
    GROUP,
    TOPIC,
    Change,
    Source,
    Synonym,
    Type,
    describe,
    parse_changes,
    parse_replacement,
    parse_settings,
)
from redis_ledger.config import Config
from redis_ledger.errors import InvalidConfig, InvalidRequest, LedgerError
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.handlers.create_partitions import check
from redis_ledger.kafka.handlers.create_topics import RequestedTopic, decide
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from redis_ledger.ledger.settings import SETTINGS, over

SET, DELETE, APPEND, SUBTRACT = range(4)
CONFIG = Config(num_partitions=4)
BROKERS = (1, 2)


def asked(name="orders", partitions=-1, replicas=-1, assigned=(), configs=()) -> CreatableTopic:
    return CreatableTopic(
        name,
        partitions,
        replicas,
        [CreatableReplicaAssignment(number, list(brokers)) for number, brokers in assigned],
        [CreatableTopicConfig(*pair) for pair in configs],
    )


# -- topics ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        (asked(), RequestedTopic(4, {})),
        (asked(partitions=7, replicas=1), RequestedTopic(7, {})),
        (asked(partitions=1, replicas=3), RequestedTopic(1, {})),
        (asked(assigned=[(1, [2]), (0, [1])]), RequestedTopic(2, {})),
        (
            asked(configs=[("retention.ms", " 5 "), ("cleanup.policy", "delete")]),
            RequestedTopic(4, {"retention_ms": 5}),
        ),
    ],
)
def test_a_topic_is_made_as_it_was_asked_for_or_by_default(topic, wanted):
    assert decide(topic, CONFIG, BROKERS) == wanted


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (asked(replicas=0), 38),
        (asked(replicas=-2), 38),
        (asked(partitions=0), 37),
        (asked(partitions=-3), 37),
        (asked(partitions=1001), 37),
        (asked(partitions=1, assigned=[(0, [1])]), 42),
        (asked(replicas=1, assigned=[(0, [1])]), 42),
        (asked(assigned=[(1, [1])]), 39),
        (asked(assigned=[(0, [1]), (0, [2])]), 39),
        (asked(assigned=[(0, [])]), 39),
        (asked(assigned=[(0, [1, 1])]), 39),
        (asked(assigned=[(0, [1]), (1, [1, 2])]), 39),
        (asked(assigned=[(0, [0]), (1, [0])]), 39),
        (asked(assigned=[(0, [1, 2]), (1, [2, 3])]), 39),
        (asked(partitions=0, replicas=0, configs=[("no.such.config", "1")]), 40),
        (asked(configs=[("retention.ms", None)]), 40),
        (asked(configs=[("no.such.config", "1")]), 40),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_the_code_kafka_has_for_it(topic, code):
    with pytest.raises(LedgerError) as refused:
        decide(topic, CONFIG, BROKERS)
    assert refused.value.kafka_code == code


@pytest.mark.parametrize(
    ("count", "assigned", "code"),
    [
        (3, None, 37),
        (2, None, 37),
        (-1, None, 37),
        (11, None, 37),
        (5, [[1]], 39),
        (5, [[1], []], 39),
        (5, [], 39),
        (5, [[1], [3]], 39),
        (5, [[1], [2, 2]], 39),
        (5, [[0], [0]], 39),
    ],
)
def test_partitions_can_only_become_more_each_with_a_broker(count, assigned, code):
    assignments = None if assigned is None else [CreatePartitionsAssignment(brokers) for brokers in assigned]
    with pytest.raises(LedgerError) as refused:
        check(CreatePartitionsTopic("orders", count, assignments), 3, 10, BROKERS)
    assert refused.value.kafka_code == code
    check(
        CreatePartitionsTopic("orders", 5, [CreatePartitionsAssignment([1]), CreatePartitionsAssignment([2])]),
        3,
        5,
        BROKERS,
    )


# -- configurations ----------------------------------------------------------------------------------------------------


def found(table, name, config=CONFIG, own=None):
    return next(each for each in describe(table, config, own or {}) if each.name == name)


def test_a_value_comes_from_the_topic_else_the_broker_else_the_default():
    default = Synonym("log.retention.ms", "604800000", Source.DEFAULT)
    given, own = Synonym("log.retention.ms", "7", Source.STATIC_BROKER), Synonym("retention.ms", "5", Source.TOPIC)
    started_with = replace(CONFIG, retention_ms=7)
    assert found(TOPIC, "retention.ms").synonyms == [default]
    assert found(TOPIC, "retention.ms", started_with).synonyms == [given, default]
    shown = found(TOPIC, "retention.ms", started_with, {"retention_ms": 5})
    assert (shown.value, shown.source, shown.read_only) == ("5", Source.TOPIC, False)
    assert shown.synonyms == [own, given, default]


def test_every_setting_a_topic_can_have_goes_by_a_name_of_kafkas():
    assert {row.ours for row in TOPIC.values() if row.ours} == set(SETTINGS)
    for row in TOPIC.values():
        assert row.documentation
        if row.broker:
            assert row.broker in BROKER, "a synonym that a broker does not tell"


def test_brokers_and_groups_tell_our_settings_under_kafkas_names():
    config = replace(CONFIG, auto_create_topics=False, offsets_retention_ms=120_000, group_heartbeat_ms=3_000)
    assert found(BROKER, "auto.create.topics.enable", config).value == "false"
    assert found(BROKER, "offsets.retention.minutes", config).value == "2"
    assert found(BROKER, "num.partitions", config).source == Source.STATIC_BROKER
    heartbeat = found(GROUP, "consumer.heartbeat.interval.ms", config)
    assert (heartbeat.value, heartbeat.read_only) == ("3000", True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "1e3"),
        ("retention.ms", ""),
        ("retention.ms", "9223372036854775808"),
        ("retention.ms", "٣"),
        ("max.message.bytes", "-1"),
        ("max.message.bytes", "2147483648"),
        ("segment.bytes", "1000"),
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("compression.type", "brotli"),
        ("compression.type", "LZ4"),
        ("min.insync.replicas", "0"),
        ("message.timestamp.type", "logappendtime"),
        ("Retention.ms", "1"),
        ("log.retention.ms", "1"),
    ],
)
def test_a_value_that_would_not_be_kept_is_refused(name, value):
    with pytest.raises(InvalidConfig, match=name):
        parse_settings([(name, value)])


def test_values_at_the_ends_of_their_range_are_taken():
    given = [("retention.ms", "9223372036854775807"), ("retention.bytes", "-1"), ("max.message.bytes", "0")]
    assert parse_settings(given) == {"retention_ms": (1 << 63) - 1, "retention_bytes": -1, "batch_bytes_max": 0}


@pytest.mark.parametrize(("text", "value"), [("true", 1), ("false", 0), (" TRUE ", 1)])
def test_a_switch_is_true_or_false_and_has_no_value_where_it_is_unset(text, value):
    assert parse_settings([("delayed.delivery", text)]) == {"delayed_delivery": value}
    unset, own = found(TOPIC, "delayed.delivery"), found(TOPIC, "delayed.delivery", own={"delayed_delivery": value})
    assert (unset.value, unset.source, unset.read_only, unset.type) == (None, Source.DEFAULT, False, Type.BOOLEAN)
    assert (own.value, own.source) == (text.strip().lower(), Source.TOPIC)
    assert parse_changes([Change("delayed.delivery", DELETE, None)]) == {"delayed_delivery": None}


def test_whether_records_wait_for_acknowledgements_is_the_brokers_choice_or_the_topics():
    name, started_with = "retention.acknowledged", replace(CONFIG, retention_acknowledged=True)
    assert parse_settings([(name, "true")]) == {"retention_acknowledged": 1}
    assert (found(TOPIC, name).value, found(TOPIC, name).source) == ("false", Source.DEFAULT)
    told = found(TOPIC, name, started_with, {"retention_acknowledged": 0})
    assert [(each.value, each.source) for each in told.synonyms] == [
        ("false", Source.TOPIC), ("true", Source.STATIC_BROKER), ("false", Source.DEFAULT),
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["1", "0", "yes", "", "none"])
def test_a_switch_takes_no_other_word(value):
    with pytest.raises(InvalidConfig, match=r"delayed\.delivery is true or false"):
        parse_settings([("delayed.delivery", value)])


@pytest.mark.parametrize("policy", ["compact", "compact,delete", "delete,compact"])
def test_a_compacted_topic_is_refused_with_what_to_do_instead(policy):
    with pytest.raises(InvalidConfig, match=r"not compacted.*Use delete.*retention\.ms=-1"):
        parse_settings([("cleanup.policy", policy)])


@pytest.mark.parametrize(
    ("name", "text", "ours", "number"),
    [
        ("min.insync.replicas", "2", "min_insync_replicas", 2),
        ("compression.type", "producer", "compression_type", -1),
        ("compression.type", "uncompressed", "compression_type", 0),
        ("compression.type", " lz4 ", "compression_type", 3),
        ("compression.type", "zstd", "compression_type", 4),
    ],
)
def test_replicas_and_compression_are_shown_as_they_were_set_and_only_replicas_have_an_effect(name, text, ours, number):
    assert parse_settings([(name, text)]) == {ours: number}
    own, unset = found(TOPIC, name, own={ours: number}), found(TOPIC, name)
    assert (own.value, own.source, own.read_only) == (text.strip(), Source.TOPIC, False)
    assert (unset.value, unset.source) == ({"min.insync.replicas": "1"}.get(name, "producer"), Source.DEFAULT)
    assert ("without effect" in own.documentation) == (name == "compression.type")
    assert over({ours: number}, CONFIG) == (replace(CONFIG, min_insync_replicas=2) if "insync" in ours else CONFIG)
    assert parse_changes([Change(name, DELETE, None)]) == {ours: None}


def test_changes_set_and_take_away_and_leave_the_rest():
    changes = [
        Change("retention.ms", SET, "5"),
        Change("segment.ms", DELETE, None),
        Change("cleanup.policy", APPEND, "delete"),
        Change("cleanup.policy.not", DELETE, None),
    ]
    assert parse_changes(changes[:3]) == {"retention_ms": 5, "ledger_age_ms_max": None}
    with pytest.raises(InvalidConfig, match=r"cleanup\.policy\.not"):
        parse_changes(changes)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Change("retention.ms", SET, None), InvalidRequest),
        (Change("retention.ms", 4, "1"), InvalidRequest),
        (Change("retention.ms", -1, "1"), InvalidRequest),
        (Change("retention.ms", APPEND, "1"), InvalidConfig),
        (Change("retention.ms", SUBTRACT, "1"), InvalidConfig),
        (Change("cleanup.policy", APPEND, "compact"), InvalidConfig),
        (Change("cleanup.policy", SUBTRACT, "delete"), InvalidConfig),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(change, error):
    with pytest.raises(error) as refused:
        parse_changes([change])
    assert type(refused.value) is error


def test_what_a_replacement_does_not_name_falls_back():
    assert parse_replacement([("retention.ms", "5"), ("preallocate", "false")]) == {
        **dict.fromkeys(SETTINGS),
        "retention_ms": 5,
    }


def test_a_name_given_twice_is_refused():
    with pytest.raises(InvalidRequest):
        parse_replacement([("retention.ms", "5"), ("retention.ms", "6")])
    with pytest.raises(InvalidRequest):
        parse_changes([Change("retention.ms", SET, "5"), Change("retention.ms", DELETE, None)])


# -- a few at once -----------------------------------------------------------------------------------------------------


async def test_a_few_jobs_run_at_once_and_their_results_keep_the_order():
    running, most = 0, 0

    async def job(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(n % 5):
            await asyncio.sleep(0)  # lets the others come in between
        running -= 1
        return n * n

    assert await gather_bounded(job, range(50), at_once=4) == [n * n for n in range(50)]
    assert most == 4
    assert await gather_bounded(job, []) == []


async def test_after_a_failure_no_other_job_is_begun():
    begun = []

    async def job(n: int) -> None:
        begun.append(n)
        await asyncio.sleep(0)
        if n == 1:
            raise LedgerError("no")

    with pytest.raises(LedgerError):
        await gather_bounded(job, range(100), at_once=2)
    await asyncio.sleep(0)
    assert len(begun) < 10
