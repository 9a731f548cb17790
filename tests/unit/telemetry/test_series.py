"""Metric families of many series, and the names that have their own series."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from redis_ledger.broker.metrics_collector import PartitionMetrics, PartitionOffsets, parse_cursor
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.telemetry.series import OTHER, Family, HistogramFamily, TopicSeries


def read(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_exposition_is_parsed_by_prometheus_for_any_label():
    family = Family("lag", "gauge", "Records.", ("topic", "group"))
    family.put([(("t", 'a"b\\c\nd'), 3), (("t", "plain"), 0.5)])
    assert read(family.text()) == {("lag", "t", 'a"b\\c\nd'): 3, ("lag", "t", "plain"): 0.5}


def test_rows_that_are_put_replace_all_before_them_and_none_leave_nothing_behind():
    family = Family("lag", "gauge", "Records.", ("topic",))
    family.put([(("a",), 1), (("b",), 2)])
    family.put([(("b",), 3)])
    assert read(family.text()) == {("lag", "b"): 3}
    family.put([])
    assert family.text() == ""


def test_a_number_that_has_no_label_is_read_when_it_is_shown():
    count = [1]
    family = Family("calls_total", "counter", "RedisCalls.", (), lambda: [((), count[0])])
    assert read(family.text()) == {("calls_total",): 1}
    count[0] = 7
    assert read(family.text()) == {("calls_total",): 7}


def test_topics_beyond_the_cap_share_one_name_and_a_topic_that_goes_makes_room():
    names = TopicSeries(most=2)
    for topic in "abcd":
        names.of(topic).records_in += 1
    assert dict(names.rows("records_in")) == {("a",): 1, ("b",): 1, (OTHER,): 2}
    assert [names.admits(topic) for topic in "abcd"] == [True, True, False, False]
    assert [names.label(topic) for topic in "abcd"] == ["a", "b", OTHER, OTHER]
    names.forget(["a"])
    assert names.admits("c")
    assert dict(names.rows("records_in")) == {("b",): 1, ("c",): 0, (OTHER,): 2}


def test_a_topic_that_is_called_like_the_others_share_makes_no_second_series_of_that_name():
    names = TopicSeries(most=2)
    names.of(OTHER).records_in += 5
    assert list(names.rows("records_in")) == [((OTHER,), 5)]


def test_a_record_counts_as_often_redelivered_from_the_sixteenth_time_on():
    names = TopicSeries()
    for times, records in ((0, 100), (1, 10), (15, 5), (16, 3), (40, 2)):
        names.of("t").delivered(records, 7, times)
    traffic = names.of("t")
    assert (traffic.records_out, traffic.bytes_out) == (120, 35)
    assert (traffic.redelivered, traffic.often) == (20, 5)


PLACE = PartitionOffsets("t", 0, PartitionKeys("rl", "t", 0), start=10, stable=50, end=70)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((None, None, None, None, None, None), None),
        ((b"shared", b"30", b"4", b"3", None, b"0"), PartitionMetrics(27, 7, 3)),
        (
            (b"shared", b"30", b"4", b"3", None, b"1"),
            PartitionMetrics(27, 6, 3),
        ),  # one was given back, and is leased by no consumer
        ((b"shared", b"30", b"4", b"3", None, b"9"), PartitionMetrics(27, 3, 3)),
        (
            (b"exclusive", b"5", b"0", b"0", None, b"0"),
            PartitionMetrics(40, 0),
        ),  # retention has taken what it did not read
        (
            (b"shared", b"60", b"0", b"0", None, b"0"),
            PartitionMetrics(0, 0),
        ),  # the stable offset was lower when it was read
        ((b"kafka", b"0", b"0", b"0", b"65", None), PartitionMetrics(5, 0)),
        ((b"kafka", b"0", b"0", b"0", b"3", None), PartitionMetrics(60, 0)),
        ((b"kafka", b"0", b"0", b"0", b"-1", None), None),  # nothing is committed here
    ],
)
def test_lag_of_a_cursor(row, expected):
    assert parse_cursor(row, PLACE) == expected


def test_a_histogram_shows_what_the_library_shows_and_a_series_from_its_first_observation_on():
    registry, bounds = CollectorRegistry(), (0.1, 1, 5.0)
    theirs = Histogram("took_seconds", "Seconds.", ("operation",), registry=registry, buckets=bounds)
    ours = HistogramFamily("took_seconds", "Seconds.", "operation", bounds)
    commit, _never = ours.of("commit"), ours.of("abort")
    assert ours.text() == ""
    for value in (0.0, 0.1, 0.1000001, 1, 4.75, 5, 5.1, 1_000):
        commit.observe(value)
        theirs.labels("commit").observe(value)
    made = {(name, *sorted(of)): value for (name, *of), value in read(generate_latest(registry).decode()).items()}
    del made["took_seconds_created", "commit"]
    assert {(name, *sorted(of)): value for (name, *of), value in read(ours.text()).items()} == made


def test_a_histogram_without_a_label_is_one_series():
    ours = HistogramFamily("took_seconds", "Seconds.", "", (1,))
    ours.of().observe(0.5)
    assert read(ours.text()) == {
        ("took_seconds_bucket", "1.0"): 1, ("took_seconds_bucket", "+Inf"): 1, ("took_seconds_count",): 1,
        ("took_seconds_sum",): 0.5,
    }  # fmt: skip
