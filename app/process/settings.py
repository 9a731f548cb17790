"""Settings: the environment and the command line → `redis_ledger.config.Config`.

    REDIS_LEDGER_BODY_BYTES_MAX=1048576      every field of Config, upper case, after REDIS_LEDGER_
    serve --set body_bytes_max=1048576       an override wins over the environment
    REDIS_LEDGER_delayedDeliveryEnabled=no   Pulsar's names are aliases, see app/process/pulsar_settings.py

Numbers may be grouped (1_000); switches are true/false, yes/no, on/off or 1/0.  The error for an invalid value contains
the setting, the value and the valid ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.pulsar_settings import ALIASES, Alias, alias_of
from redis_ledger.config import Config
from redis_ledger.ledger.settings import BUFFERS, TIMESTAMP_TYPES
from redis_ledger.records.large_messages import LARGE_BYTES_MAX

PREFIX = "REDIS_LEDGER_"
_SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_RETENTION = ("retention_ms", "retention_bytes")  # 0: see _agree
# 0: disabled
_OUTCOMES = ("ended_status_retention_ms", "ended_status_max_records")
# -1 means no limit
_ENDLESS = {
    *_RETENTION,
    *_OUTCOMES,
    "delayed_delivery_max_indexes_per_segment",
    "delayed_delivery_max_num_buckets",
    "aborted_payload_retention_ms",
}
_FROM_ZERO = {
    "large_message_bytes_max",
    "decoded_bytes_max",
    "transaction_buffer_snapshot_max_transaction_count",
    "max_unacked_per_consumer",
    "max_unacked_per_subscription",
    "max_active_transactions_per_coordinator",
    "transaction_log_batched_write_max_delay_ms",
    "clock_skew_ms_max",
    "redis_retry_ms",
    "delayed_delivery_tick_time_ms",
    "delayed_delivery_max_delay_ms",
    "delayed_delivery_ledger_step_per_bucket",
    "delayed_delivery_load_ahead_ms",
    "delayed_delivery_block_after_ms",
    "offload_cache_bytes",
    "message_timestamp_before_ms_max",
    "message_timestamp_after_ms_max",
    "quota_bytes_in_per_s",
    "quota_bytes_out_per_s",
    "quota_requests_per_s",
    "quota_open_transactions",
}
_PATHS = {
    "offload_home",
    "state_dir",
    "super_users",
    "bootstrap_token_file",
    "jwt_jwks",
    "jwt_issuer",
    "jwt_audience",
    "tls_certificate",
    "tls_key",
    "tls_kafka_listeners",
    "tls_client_ca",
}  # text with fewer restrictions; empty: disabled
_KNOWN: dict[str, Any] = {field.name: field.default for field in fields(Config)}


class BadSetting(CommandError):
    """A setting that cannot be used."""


def config_from(environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Config:
    """Raises BadSetting.  For an override of None, the environment or the default applies."""
    chosen = _chosen(_of_environment(environ))
    chosen.update(_chosen(_of_overrides(overrides or {})))
    config = Config(**chosen)
    _agree(config)
    return config


def without_effect(environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> list[str]:
    """Returns a sentence for each setting that is accepted without effect."""
    given = (*_of_environment(environ), *_of_overrides(overrides or {}))
    idle = [(shown, meant.note) for shown, meant, _ in given if isinstance(meant, Alias) and not meant.only]
    return [f"{shown} has no effect: {note}." for shown, note in idle]


def _of_environment(environ: Mapping[str, str]) -> list[tuple[str, str | Alias, Any]]:
    """Yields the variables: the name as given, the setting or alias, the value."""
    given: list[tuple[str, str | Alias, Any]] = []
    for name in _KNOWN:
        shown = PREFIX + name.upper()
        if shown in environ:
            given.append((shown, name, environ[shown]))
    for shown, value in environ.items():
        alias = alias_of(shown.removeprefix(PREFIX)) if shown.startswith(PREFIX) else None
        if alias is not None:
            given.append((shown, alias.ours or alias, value))
    return given


def _of_overrides(overrides: Mapping[str, Any]) -> list[tuple[str, str | Alias, Any]]:
    given: list[tuple[str, str | Alias, Any]] = []
    for name, value in overrides.items():
        alias = alias_of(name)
        if name not in _KNOWN and alias is None:
            near = difflib.get_close_matches(name, [*_KNOWN, *(each.name for each in ALIASES.values())], 1)
            raise BadSetting(f"{name} is not a setting{f'; did you mean {near[0]}?' if near else '.'}")
        if value is not None:
            given.append((name, name if alias is None else alias.ours or alias, value))
    return given


def _chosen(given: Iterable[tuple[str, str | Alias, Any]]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    named: dict[str, str] = {}
    for shown, meant, value in given:
        if isinstance(meant, Alias):
            _only(shown, meant, str(value).strip())
            continue
        parsed = _parse(shown, meant, value, _KNOWN[meant])
        if chosen.setdefault(meant, parsed) != parsed:
            raise BadSetting(f"{shown}={value} and {named[meant]} set the same setting to different values; give one.")
        named.setdefault(meant, shown)
    return chosen


def _only(shown: str, alias: Alias, value: str) -> None:
    """Raises BadSetting for a value that the alias does not accept."""
    if alias.only in ("true", "false"):
        fits = _SWITCH.get(value.lower()) is _SWITCH[alias.only]
    else:
        fits = alias.only in ("", value)
    if not fits:
        raise BadSetting(f"{shown}={value} is not supported: {alias.note}; omit it or use {alias.only}.")


def misspelt(environ: Mapping[str, str], *others: str) -> dict[str, str]:
    """Unknown variables that resemble a setting → the setting that was probably meant.

    They are not rejected, because orchestrators add variables such as REDIS_LEDGER_SERVICE_HOST.  others: variables
    that commands read themselves.
    """
    known = [PREFIX + name.upper() for name in _KNOWN] + [PREFIX + name for name in others]
    known += [PREFIX + alias.name for alias in ALIASES.values()]
    foreign = (name for name in environ if name.startswith(PREFIX) and name not in known)
    strange = [name for name in foreign if alias_of(name.removeprefix(PREFIX)) is None]
    near = {name: difflib.get_close_matches(name, known, 1, 0.85) for name in strange}
    return {name: found[0] for name, found in near.items() if found}


def _parse(shown: str, name: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        switch = value if isinstance(value, bool) else _SWITCH.get(str(value).strip().lower())
        if switch is None:
            raise BadSetting(f"{shown}={value} is not a switch; use true or false.")
        return switch
    if isinstance(default, int):
        return _number(shown, name, value)
    text = str(value)
    if name in _PATHS:
        if text.isprintable():
            return text.strip()
        raise BadSetting(f"{shown}={text!r} cannot be used; use printable characters.")
    if not text or not text.isascii() or not text.isprintable() or set(text) & set("{}* "):
        raise BadSetting(
            f"{shown}={text!r} cannot be used; use printable ASCII characters without braces, * and spaces."
        )
    return text


def _number(shown: str, name: str, value: Any) -> int:
    least = -1 if name in _ENDLESS else 0 if name in _FROM_ZERO else 1
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise BadSetting(f"{shown}={value} is not an integer; use one from {least} up.") from None
    most = max(_KNOWN[name], 2**53 - 1)  # one is as large as Kafka's
    if not least <= number <= most or (least == -1 and number == 0 and name not in (*_RETENTION, *_OUTCOMES)):
        lowest = 0 if name in _OUTCOMES else 1
        what = f"-1 (no limit) or a number from {lowest} up" if least == -1 else f"a number from {least} up, below 2^53"
        raise BadSetting(f"{shown}={value} is out of range; use {what}.")
    return number


def _agree(config: Config) -> None:
    """Checks combinations of settings.  Raises BadSetting."""
    for name in _RETENTION:
        if getattr(config, name) == 0 and not config.retention_acknowledged:
            raise BadSetting(
                f"{name}=0 would trim every record immediately; use -1 (no limit) or a number from 1 up, or turn "
                "retention_acknowledged on, so that records are trimmed once they are acknowledged."
            )
    if config.default_timeout_ms > config.max_transaction_timeout_ms:
        raise BadSetting(
            f"default_timeout_ms={config.default_timeout_ms} is above max_transaction_timeout_ms="
            f"{config.max_transaction_timeout_ms}; lower the first or raise the second."
        )
    if config.jwt_jwks and not (config.jwt_issuer and config.jwt_audience):
        raise BadSetting(
            "jwt_jwks requires jwt_issuer and jwt_audience; without them tokens issued for other services would "
            "count here."
        )
    if (config.jwt_issuer or config.jwt_audience) and not config.jwt_jwks:
        raise BadSetting("jwt_issuer and jwt_audience require jwt_jwks, a file or URL with the issuer's keys.")
    if config.large_message_bytes_max > LARGE_BYTES_MAX:
        raise BadSetting(
            f"large_message_bytes_max={config.large_message_bytes_max} is above the maximum of {LARGE_BYTES_MAX}."
        )
    if config.message_timestamp_type not in TIMESTAMP_TYPES:
        raise BadSetting(
            f"message_timestamp_type={config.message_timestamp_type} is not a timestamp type; use "
            f"{' or '.join(TIMESTAMP_TYPES)}."
        )
    if config.txn_buffer not in BUFFERS:
        raise BadSetting(f"txn_buffer={config.txn_buffer} is not a transaction buffer; use {' or '.join(BUFFERS)}.")
    if config.coordinators > 1 << 15:
        raise BadSetting(f"coordinators={config.coordinators} is above the maximum of 32768.")
    if config.num_partitions > config.partitions_max:
        raise BadSetting(
            f"num_partitions={config.num_partitions} is above partitions_max={config.partitions_max}; "
            "lower the first or raise the second."
        )
