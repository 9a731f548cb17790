from __future__ import annotations

import pytest

from app.settings import BadSetting, config_from, misspelt
from redis_ledger.config import Config


def test_without_settings_the_defaults_stand():
    assert config_from({}) == Config()


def test_the_environment_sets_and_an_override_wins():
    environ = {"REDIS_LEDGER_PREFIX": "prod", "REDIS_LEDGER_BODY_BYTES_MAX": "1_000", "PREFIX": "no"}
    config = config_from(environ, {"body_bytes_max": 2_000, "num_partitions": None})
    assert (config.prefix, config.body_bytes_max, config.num_partitions) == ("prod", 2_000, 1)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("OFF", False), ("1", True), (" no ", False)])
def test_a_switch_is_read_in_any_usual_spelling(text, value):
    assert config_from({"REDIS_LEDGER_AUTO_CREATE_TOPICS": text}).auto_create_topics is value


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("BODY_BYTES_MAX", "big", "REDIS_LEDGER_BODY_BYTES_MAX=big is not a whole number; give one from 1 up."),
        ("BODY_BYTES_MAX", "0", "REDIS_LEDGER_BODY_BYTES_MAX=0 is out of range; give a number from 1 up, below 2^53."),
        ("RETENTION_MS", "0", "REDIS_LEDGER_RETENTION_MS=0 is out of range; give -1 (no limit) or a number from 1 up."),
        ("AUTO_CREATE_TOPICS", "maybe", "REDIS_LEDGER_AUTO_CREATE_TOPICS=maybe is not a switch; use true or false."),
        ("PREFIX", "a{b", "REDIS_LEDGER_PREFIX='a{b' cannot be used"),
        ("DEFAULT_TIMEOUT_MS", "999999999", "default_timeout_ms=999999999 is above max_transaction_timeout_ms=900000"),
        ("COORDINATORS", "40000", "coordinators=40000 is above 32768"),
        ("NUM_PARTITIONS", "5000", "num_partitions=5000 is above partitions_max=1000"),
    ],
)
def test_a_bad_value_is_refused_in_one_sentence(name, value, sentence):
    with pytest.raises(BadSetting) as refused:
        config_from({f"REDIS_LEDGER_{name}": value})
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_an_unknown_override_is_refused_with_what_was_probably_meant():
    with pytest.raises(BadSetting, match="body_byte_max is not a setting; did you mean body_bytes_max"):
        config_from({}, {"body_byte_max": 1})


def test_a_misspelt_variable_is_named_but_a_foreign_one_is_not():
    environ = {"REDIS_LEDGER_BODY_BYTE_MAX": "1", "REDIS_LEDGER_SERVICE_HOST": "10.0.0.1", "REDIS_LEDGER_REDIS": "x"}
    assert misspelt(environ, "REDIS") == {"REDIS_LEDGER_BODY_BYTE_MAX": "REDIS_LEDGER_BODY_BYTES_MAX"}
