from __future__ import annotations

import re
from dataclasses import fields

import pytest

from redis_ledger.app.process.pulsar_settings import ALIASES
from redis_ledger.app.process.settings import BadSetting, config_from, misspelt, without_effect
from redis_ledger.config import Config
from scripts import gen_docs


def test_defaults_apply_without_settings():
    assert config_from({}) == Config()


def test_override_takes_precedence_over_the_environment():
    environ = {"REDIS_LEDGER_PREFIX": "prod", "REDIS_LEDGER_BODY_BYTES_MAX": "1_000", "PREFIX": "no"}
    config = config_from(environ, {"body_bytes_max": 2_000, "num_partitions": None})
    assert (config.prefix, config.body_bytes_max, config.num_partitions) == ("prod", 2_000, 1)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("OFF", False), ("1", True), (" no ", False)])
def test_a_switch_is_read_in_any_usual_spelling(text, value):
    assert config_from({"REDIS_LEDGER_AUTO_CREATE_TOPICS": text}).auto_create_topics is value


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("BODY_BYTES_MAX", "big", "REDIS_LEDGER_BODY_BYTES_MAX=big is not an integer; use one from 1 up."),
        ("BODY_BYTES_MAX", "0", "REDIS_LEDGER_BODY_BYTES_MAX=0 is out of range; use a number from 1 up, below 2^53."),
        ("RETENTION_MS", "0", "retention_ms=0 would trim every record immediately; use -1 (no limit)"),
        ("RETENTION_BYTES", "-2", "REDIS_LEDGER_RETENTION_BYTES=-2 is out of range; use -1 (no limit)"),
        ("AUTO_CREATE_TOPICS", "maybe", "REDIS_LEDGER_AUTO_CREATE_TOPICS=maybe is not a switch; use true or false."),
        ("PREFIX", "a{b", "REDIS_LEDGER_PREFIX='a{b' cannot be used"),
        ("DEFAULT_TIMEOUT_MS", "999999999", "default_timeout_ms=999999999 is above max_transaction_timeout_ms=900000"),
        ("COORDINATORS", "40000", "coordinators=40000 is above the maximum of 32768"),
        ("NUM_PARTITIONS", "5000", "num_partitions=5000 is above partitions_max=1000"),
    ],
)
def test_invalid_value_is_rejected_in_one_sentence(name, value, sentence):
    with pytest.raises(BadSetting) as refused:
        config_from({f"REDIS_LEDGER_{name}": value})
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("home", ["", "/var/lib/my history", "s3://bucket/prefix?region=eu-west-1"])
def test_a_home_may_be_any_path_or_uri_or_none(home):
    assert config_from({"REDIS_LEDGER_OFFLOAD_HOME": home}).offload_home == home


def test_retention_may_be_zero_with_retention_acknowledged():
    config = config_from({"REDIS_LEDGER_RETENTION_MS": "0", "REDIS_LEDGER_RETENTION_ACKNOWLEDGED": "on"})
    assert (config.retention_ms, config.retention_acknowledged) == (0, True)


def test_unknown_override_is_rejected_with_a_suggestion():
    with pytest.raises(BadSetting, match="body_byte_max is not a setting; did you mean body_bytes_max"):
        config_from({}, {"body_byte_max": 1})


def test_misspelt_variable_is_reported_but_unrelated_ones_are_not():
    environ = {"REDIS_LEDGER_BODY_BYTE_MAX": "1", "REDIS_LEDGER_SERVICE_HOST": "10.0.0.1", "REDIS_LEDGER_REDIS": "x"}
    assert misspelt(environ, "REDIS") == {"REDIS_LEDGER_BODY_BYTE_MAX": "REDIS_LEDGER_BODY_BYTES_MAX"}


# -- Pulsar's names ----------------------------------------------------------------------------------------------------

ONE_VALUE = [
    ("isDelayedDeliveryDeliverAtTimeStrict", "true", "false", "nothing is ever delivered early"),
    (
        "delayedDeliveryTrackerFactoryClassName",
        "org.apache.pulsar.broker.delayed.BucketDelayedDeliveryTrackerFactory",
        "org.apache.pulsar.broker.delayed.InMemoryDelayedDeliveryTrackerFactory",
        "there is no tracker in memory",
    ),
    ("enbaleBucketDelayedDeliveryTracker", "true", "false", "there is no tracker in memory"),
    ("delayedDeliverySharedIndexEnabled", "true", "false", "all subscriptions of a partition share one index"),
    ("enbaleShareDelayedMessageIndex", "true", "false", "all subscriptions of a partition share one index"),
]


@pytest.mark.parametrize(
    ("alias", "text", "ours", "value"),
    [
        ("delayedDeliveryEnabled", "false", "delayed_delivery_enabled", False),
        ("delayedDeliveryTickTimeMillis", "1000", "delayed_delivery_tick_time_ms", 1_000),
        ("delayedDeliveryMaxDelayInMillis", "0", "delayed_delivery_max_delay_ms", 0),
        ("delayedDeliveryMinIndexCountPerBucket", "5", "delayed_delivery_min_index_count_per_bucket", 5),
        ("delayedDeliveryLedgerStepPerBucket", "5", "delayed_delivery_ledger_step_per_bucket", 5),
        (
            "delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds",
            "60",
            "delayed_delivery_max_time_step_per_segment_s",
            60,
        ),
        ("delayedDeliveryTimeStepPerBucketSnapshotSeconds", "60", "delayed_delivery_max_time_step_per_segment_s", 60),
        ("delayedDeliveryMaxIndexesPerBucketSnapshotSegment", "-1", "delayed_delivery_max_indexes_per_segment", -1),
        ("delayedDeliveryMaxNumBuckets", "20", "delayed_delivery_max_num_buckets", 20),
    ],
)
def test_dd_63_pulsar_names_of_both_generations_are_aliases(alias, text, ours, value):
    assert getattr(config_from({f"REDIS_LEDGER_{alias}": text}), ours) == value
    assert getattr(config_from({f"REDIS_LEDGER_{alias.upper()}": text}), ours) == value
    assert getattr(config_from({}, {alias: text}), ours) == value


@pytest.mark.parametrize(
    "given",
    [
        {"REDIS_LEDGER_delayedDeliveryTickTimeMillis": "5", "REDIS_LEDGER_DELAYED_DELIVERY_TICK_TIME_MS": "6"},
        {
            "REDIS_LEDGER_delayedDeliveryTimeStepPerBucketSnapshotSeconds": "5",
            "REDIS_LEDGER_delayedDeliveryMaxTimeStepPerBucketSnapshotSegmentSeconds": "6",
        },
    ],
)
def test_dd_63_contradicting_aliases_are_rejected_with_both_names(given):
    for ask in (lambda: config_from(given), lambda: config_from({}, as_overrides(given))):
        with pytest.raises(BadSetting, match="set the same setting to different values") as refused:
            ask()
        assert all(name.removeprefix("REDIS_LEDGER_").lower() in str(refused.value).lower() for name in given)
    # The same value is no conflict, and neither is an override
    assert config_from(dict.fromkeys(given, "5")) == config_from({next(iter(given)): "5"})
    assert config_from({"REDIS_LEDGER_DELAYED_DELIVERY_TICK_TIME_MS": "6"}, {"delayedDeliveryTickTimeMillis": "7"}) == (
        Config(delayed_delivery_tick_time_ms=7)
    )


def as_overrides(environ):
    names = ((name.removeprefix("REDIS_LEDGER_"), value) for name, value in environ.items())
    return {name.lower() if name.isupper() else name: value for name, value in names}


@pytest.mark.parametrize(("alias", "only", "other", "why"), ONE_VALUE)
def test_dd_63_alias_with_a_single_value_rejects_others_with_the_reason(alias, only, other, why):
    assert config_from({f"REDIS_LEDGER_{alias}": only}) == config_from({}, {alias: only}) == Config()
    assert without_effect({f"REDIS_LEDGER_{alias}": only}) == []
    with pytest.raises(BadSetting, match=f"^REDIS_LEDGER_{alias}={other} is not supported: .*{why}.*; omit it or use"):
        config_from({f"REDIS_LEDGER_{alias}": other})


def test_dd_63_unsupported_alias_is_accepted_with_a_warning():
    environ, overrides = {"REDIS_LEDGER_DELAYEDDELIVERYFIXEDDELAYDETECTIONLOOKAHEAD": "0"}, {"num_partitions": 2}
    assert config_from(environ) == Config()
    assert [each.partition(":")[0] for each in without_effect(environ, overrides)] == [
        "REDIS_LEDGER_DELAYEDDELIVERYFIXEDDELAYDETECTIONLOOKAHEAD has no effect"
    ]


def test_dd_63_every_alias_has_a_setting_or_a_reason():
    known = {field.name for field in fields(Config)}
    for alias in ALIASES.values():
        assert alias.ours in known if alias.ours else alias.note


def test_former_authentication_setting_is_rejected():
    for ask in (lambda: config_from({"REDIS_LEDGER_KAFKA_SASL_ENABLED": "on"}),
                lambda: config_from({}, {"kafka_sasl_enabled": "true"})):  # fmt: skip
        with pytest.raises(BadSetting, match=r"(?i)^\S*kafka_sasl_enabled=\w+ is not supported: auth_required "):
            ask()
    assert config_from({"REDIS_LEDGER_KAFKA_SASL_ENABLED": "no"}) == Config()


def test_misspelt_alias_is_reported():
    environ = {"REDIS_LEDGER_DELAYEDDELIVERYENABLED": "1", "REDIS_LEDGER_delayedDeliveryMaxNumBucket": "1"}
    assert misspelt(environ) == {
        "REDIS_LEDGER_delayedDeliveryMaxNumBucket": "REDIS_LEDGER_delayedDeliveryMaxNumBuckets"
    }


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("delayed_delivery_tick_time_ms", 0, -1),
        ("delayed_delivery_max_delay_ms", 0, -1),
        ("delayed_delivery_ledger_step_per_bucket", 0, -1),
        ("delayed_delivery_load_ahead_ms", 0, -1),
        ("delayed_delivery_block_after_ms", 0, -1),
        ("delayed_delivery_max_num_buckets", -1, 0),
        ("delayed_delivery_max_indexes_per_segment", -1, 0),
        ("delayed_delivery_min_index_count_per_bucket", 1, 0),
        ("delayed_delivery_fire_chunk", 1, 0),
    ],
)
def test_delayed_delivery_settings_accept_no_limit_where_valid(name, taken, refused):
    assert getattr(config_from({}, {name: taken}), name) == taken
    with pytest.raises(BadSetting, match=name):
        config_from({}, {name: refused})


@pytest.mark.parametrize("name", ["jwt_issuer", "jwt_audience"])
def test_jwt_settings_are_required_together(name):
    with pytest.raises(BadSetting, match="require jwt_jwks"):
        config_from({}, {name: "https://id.example"})


@pytest.mark.parametrize("name", ["ended_status_retention_ms", "ended_status_max_records"])
def test_retention_of_ended_transactions_may_be_disabled_or_unlimited(name):
    """TS-06."""
    assert [getattr(config_from({}, {name: value}), name) for value in (0, -1, 5)] == [0, -1, 5]
    with pytest.raises(BadSetting, match=r"use -1 \(no limit\) or a number from 0 up"):
        config_from({}, {name: -2})


# The page says "0: disabled" or "-1: no limit" of such a value.
DOCUMENTED = [
    *((setting.name, str(setting.default)) for setting in gen_docs.settings()),
    *((setting.name, value) for setting in gen_docs.settings() for value in re.findall(r"(-1|\b0): ", setting.meaning)),
]


@pytest.mark.parametrize(("name", "value"), dict.fromkeys(DOCUMENTED))
def test_every_documented_value_is_accepted(name, value):
    config = config_from({f"REDIS_LEDGER_{name.upper()}": value})
    assert str(getattr(config, name)) == value
