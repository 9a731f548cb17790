from __future__ import annotations

import re

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.offset_options import EARLIEST, LATEST, OffsetOption
from redis_ledger.spark.read_options import ALIASES, READING, Connection, parse_read_options
from redis_ledger.spark.write_options import NOT_OURS, WRITING
from tests.support.certificates import Authority
from tests.support.processes import ROOT

LEAST = {"bootstrap": "http://b:1", "topics": "orders"}
TWO = ("http://b:1", "http://c:2")
ORDERS_0 = TopicPartition("orders", 0)


def refused(mode, **options) -> str:
    given = {name: text for name, text in (LEAST | options).items() if text is not None}
    with pytest.raises(InvalidRequest) as caught:
        parse_read_options(given, mode)
    return str(caught.value)


def test_address_and_topics_are_all_that_must_be_said():
    asked = parse_read_options(LEAST, "batch")
    assert asked.connection == Connection(("http://b:1",), None, 60_000)
    assert (asked.topics, asked.pattern, asked.isolation) == (("orders",), None, "read_committed")
    assert (asked.start, asked.end) == (OffsetOption(EARLIEST), OffsetOption(LATEST))
    assert (asked.offsets_max, asked.bytes_max, asked.tasks_min) == (None, None, 1)
    assert asked.fail_on_data_loss
    assert not asked.include_headers
    assert not asked.include_position


def test_a_stream_begins_at_the_end_unless_told_otherwise_as_with_kafka():
    assert parse_read_options(LEAST, "stream").start == OffsetOption(LATEST)


@pytest.mark.parametrize(
    ("options", "field", "expected"),
    [
        ({"BOOTSTRAP": " http://b:1/, http://c:2 "}, "connection", Connection(TWO, None, 60_000)),
        ({"topics": "a, b,a"}, "topics", ("a", "b")),
        ({"topics": None, "SUBSCRIBE": "a"}, "topics", ("a",)),
        ({"topics": None, "subscribePattern": "a.*"}, "pattern", "a.*"),
        ({"kafka.isolation.level": "read_uncommitted"}, "isolation", "read_uncommitted"),
        ({"startingOffsets": "Earliest"}, "start", OffsetOption(EARLIEST)),
        ({"startingOffsets": '{"orders":{"0":-2}}'}, "start", OffsetOption(None, {ORDERS_0: -2})),
        ({"startingTimestamp": "5"}, "start", OffsetOption(5, is_time=True)),
        (
            {"startingOffsetsByTimestamp": '{"orders":{"0":7}}'},
            "start",
            OffsetOption(None, {ORDERS_0: 7}, is_time=True),
        ),
        ({"endingOffsets": '{"orders":{"0":9}}'}, "end", OffsetOption(None, {ORDERS_0: 9})),
        ({"endingTimestamp": "6"}, "end", OffsetOption(6, is_time=True)),
        ({"startingOffsetsByTimestampStrategy": "latest"}, "latest_if_no_match", True),
        ({"minPartitions": "8"}, "tasks_min", 8),
        ({"fetchBytes": "1000"}, "fetch_bytes", 1000),
        ({"failOnDataLoss": "FALSE"}, "fail_on_data_loss", False),
        ({"includeHeaders": "true"}, "include_headers", True),
    ],
)  # fmt: skip
def test_an_option_is_read_in_any_case_and_under_kafkas_name(options, field, expected):
    given = {name: text for name, text in (LEAST | options).items() if text is not None}
    if "BOOTSTRAP" in given:
        del given["bootstrap"]
    assert getattr(parse_read_options(given, "batch"), field) == expected


def test_limits_are_for_streams():
    asked = parse_read_options(LEAST | {"maxOffsetsPerTrigger": "10", "maxBytesPerTrigger": "1000"}, "stream")
    assert (asked.offsets_max, asked.bytes_max) == (10, 1000)


@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        ("batch", {"bootstrap": None}, "bootstrap is missing"),
        ("batch", {"bootstrap": "b:9092"}, "'b:9092' is not a broker address"),
        ("batch", {"bootstrap": "http://b:1/v1"}, "'http://b:1/v1' is not a broker address"),
        ("batch", {"topics": None}, "either topics=a,b or topicsPattern"),
        ("batch", {"topicsPattern": "x"}, "either topics=a,b or topicsPattern"),
        ("batch", {"topics": " , "}, "topics is empty"),
        ("batch", {"topics": None, "topicsPattern": "("}, "is not a regular expression"),
        ("batch", {"subscribe": "orders"}, "topics is given twice"),
        ("batch", {"isolation": "dirty"}, "isolation is 'dirty'; expected read_committed or read_uncommitted"),
        ("batch", {"startingOffsets": "latest"}, "start earlier"),
        ("batch", {"startingOffsets": '{"orders":{"0":-1}}'}, "start earlier"),
        ("batch", {"endingOffsets": "earliest"}, "end later"),
        ("batch", {"startingOffsets": "5"}, "startingOffsets is invalid"),
        ("batch", {"startingOffsets": '{"orders":{"x":5}}'}, "'x': 5 is not valid"),
        ("batch", {"startingOffsets": '{"orders":{"0":-3}}'}, "'0': -3 is not valid"),
        ("batch", {"startingOffsets": '{"orders":{"0":"5"}}'}, "startingOffsets is invalid"),
        ("batch", {"startingOffsets": "{}"}, "names no partition"),
        ("batch", {"startingOffsetsByTimestamp": '{"orders":{"0":-1}}'}, "a time in milliseconds"),
        ("batch", {"startingOffsets": "earliest", "startingTimestamp": "5"}, "exclude each other"),
        ("batch", {"startingTimestamp": "yesterday"}, "expected a whole number of at least 0"),
        ("batch", {"startingOffsetsByTimestampStrategy": "earliest"}, "expected error or latest"),
        ("batch", {"minPartitions": "0"}, "minPartitions is '0'; expected a whole number of at least 1"),
        ("batch", {"minPartitions": "1e3"}, "minPartitions is '1e3'"),
        ("batch", {"fetchBytes": "999999999"}, "the maximum is 67108864"),
        ("batch", {"failOnDataLoss": "no"}, "failOnDataLoss is 'no'; expected true or false"),
        ("batch", {"token": "a b"}, "The token holds characters"),
        ("batch", {"token": ""}, "token is empty; remove it"),
        ("batch", {"token": "a", "tokenFile": "b"}, "token and tokenFile exclude each other"),
        ("stream", {"tokenFile": "/nowhere/token"}, "/nowhere/token cannot be read"),
        ("stream", {"caFile": "/nowhere/ca.pem"}, "/nowhere/ca.pem cannot be read"),
        ("stream", {"caFile": __file__}, "it holds no certificate"),
        ("batch", {"bootstrap": "http://ada:pw@b:1"}, "must not contain a user or password"),
        ("batch", {"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger applies to streams and this is batch queries"),
        ("stream", {"endingOffsets": "latest"}, "endingOffsets applies to batch queries and this is streams"),
        ("stream", {"endingTimestamp": "5"}, "endingTimestamp applies to batch queries"),
        ("stream", {"maxOffsetPerTrigger": "5"}, "did you mean maxOffsetsPerTrigger?"),
        ("stream", {"kafka.bootstrap.servers": "b:9092"}, "set bootstrap to http://host:8080"),
        ("stream", {"kafka.group.id": "g"}, "a setting of Kafka's client, which is not used here"),
        ("stream", {"nonsense": "5"}, "There is no option nonsense; the options are batchDecodedBytesMax, bootstrap,"),
    ],
)
def test_invalid_options_are_refused_in_one_sentence(mode, options, said):
    assert said in refused(mode, **options)


def test_while_the_mode_is_unknown_what_only_one_mode_has_is_let_through():
    assert parse_read_options(LEAST | {"endingOffsets": "latest", "maxOffsetsPerTrigger": "1"}).offsets_max == 1


def test_a_token_file_is_read_when_options_are_and_whenever_tasks_are_made(tmp_path):
    file = tmp_path / "token"
    file.write_text("t1\n")
    begun = parse_read_options(LEAST | {"tokenFile": str(file)}, "stream").connection
    assert (begun.token, begun.now().token) == ("t1", "t1")
    file.write_text("t2\n")
    assert (begun.token, begun.now().token) == ("t1", "t2")
    file.write_text("")
    assert begun.now().token == "t1"


def test_of_a_file_with_authorities_tasks_get_the_certificates_and_no_key_that_may_stand_beside_them(tmp_path):
    certificate, key = Authority(tmp_path).issue("broker")
    both = tmp_path / "both.pem"
    both.write_text(f"# Gr\u00fc\u00dfe\n{key.read_text()}{certificate.read_text()}", encoding="utf-8")
    given = parse_read_options(LEAST | {"caFile": str(both)}, "batch").connection
    assert given.authorities == certificate.read_text().strip()


def test_a_token_is_not_shown():
    assert "secret" not in repr(parse_read_options(LEAST | {"token": "secret"}, "batch"))


def test_readers_spread_over_the_brokers():
    three = Connection(("a", "b", "c"), None, 1)
    assert [three.from_broker(number).urls[0] for number in range(4)] == ["a", "b", "c", "a"]
    assert sorted(three.from_broker(1).urls) == ["a", "b", "c"]


def test_every_option_is_in_the_guide():
    page = (ROOT / "docs" / "howto" / "use-spark.md").read_text()
    listed = re.findall(r"^\| `([A-Za-z]+)`", page, re.MULTILINE)
    assert set(READING) - set(listed) == set()
    assert [name for name in WRITING if name not in NOT_OURS and f"`{name}`" not in page] == []
    assert set(ALIASES.values()) <= set(READING)
