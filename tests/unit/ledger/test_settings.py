from __future__ import annotations

import pytest

from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest
from redis_ledger.ledger.settings import (
    AFTER,
    BEFORE,
    DELAYED,
    SETTINGS,
    TIMESTAMP_TYPE,
    UNSET,
    check,
    delays_by_headers,
    effective,
    over,
    parse,
    to_body,
)

CONFIG = Config(retention_ms=7)


def test_a_topic_has_its_own_values_over_the_brokers():
    own = {"retention_bytes": 5, "delayed_delivery_max_delay_ms": 9}
    config = over(own, CONFIG)
    assert (config.retention_ms, config.retention_bytes, config.delayed_delivery_max_delay_ms) == (7, 5, 9)
    assert over({}, CONFIG) is CONFIG
    # One that a newer broker stored is passed over
    assert over({"of_tomorrow": 1}, CONFIG) is CONFIG


@pytest.mark.parametrize(
    ("own", "broker", "delays", "by_headers"),
    [
        ({}, True, True, False),
        ({}, False, False, False),
        ({DELAYED: 1}, True, True, True),
        ({DELAYED: 1}, False, True, True),
        ({DELAYED: 0}, True, False, False),
    ],
)
def test_dd_05_a_topic_says_whether_delivery_is_delayed_and_headers_count_only_where_it_does(
    own, broker, delays, by_headers
):
    config = over(own, Config(delayed_delivery_enabled=broker))
    assert (config.delayed_delivery_enabled, delays_by_headers(own)) == (delays, by_headers)


def test_every_setting_has_a_value_but_those_that_may_be_unset():
    assert set(effective({}, CONFIG)) == set(SETTINGS) - UNSET
    limits = {"max_unacked_per_consumer", "max_unacked_per_subscription"}
    timestamps = {TIMESTAMP_TYPE, BEFORE, AFTER}
    assert {DELAYED, "min_insync_replicas", "compression_type"} | limits | timestamps == UNSET
    assert effective({DELAYED: 0, "retention_ms": 5}, CONFIG).items() >= {(DELAYED, 0), ("retention_ms", 5)}


@pytest.mark.parametrize(
    "own", [{"x": 1}, {DELAYED: 2}, {DELAYED: -1}, {"delayed_delivery_tick_time_ms": 60_001}, {"retention_ms": -2}]
)
def test_invalid_topic_settings_are_refused_by_name(own):
    with pytest.raises(InvalidRequest, match=next(iter(own))):
        check(own)


def test_numbers_read_by_a_caller_are_stored_unchanged():
    kept = {"retention_ms": 5, "retention_acknowledged": 1, DELAYED: 0, "compression_type": 3, "min_insync_replicas": 2}
    read: dict[str, int | bool | str] = {
        "retention_ms": 5, "retention_acknowledged": True, DELAYED: False, "compression_type": "lz4",
        "min_insync_replicas": 2,
    }  # fmt: skip
    assert to_body(kept) == read
    assert parse(read) == kept
