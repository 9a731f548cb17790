"""The environment and the command line → `redis_ledger.config.Config`; nothing else in the project reads either.

    REDIS_LEDGER_BODY_BYTES_MAX=1048576      every field of Config, upper case, after REDIS_LEDGER_
    serve --set body_bytes_max=1048576       an override wins over the environment

Numbers may be grouped (1_000) and switches are true/false, yes/no, on/off or 1/0.  What cannot be understood is refused
in one sentence that names the setting, the value and what would do.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from redis_ledger.config import Config

PREFIX = "REDIS_LEDGER_"
_SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_ENDLESS = {"retention_ms", "retention_bytes"}  # -1 means no limit
_FROM_ZERO = {"max_active_transactions_per_coordinator", "transaction_log_batched_write_max_delay_ms", "redis_retry_ms"}


class BadSetting(ValueError):
    """A setting that cannot be used; its text is one sentence for the operator."""


def config_from(environ: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> Config:
    """Raises BadSetting.  An override of None leaves the environment's or the default value."""
    known = {field.name: field.default for field in fields(Config)}
    chosen: dict[str, Any] = {}
    for name, default in known.items():
        text = environ.get(PREFIX + name.upper())
        if text is not None:
            chosen[name] = _parse(PREFIX + name.upper(), name, text, default)
    for name, value in (overrides or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise BadSetting(f"{name} is not a setting{f'; did you mean {near[0]}' if near else ''}.")
        if value is not None:
            chosen[name] = _parse(name, name, value, known[name])
    config = Config(**chosen)
    _agree(config)
    return config


def misspelt(environ: Mapping[str, str], *others: str) -> dict[str, str]:
    """Variables that look like a setting but are none → the setting that was probably meant.

    They are not refused: an orchestrator adds variables of its own, such as REDIS_LEDGER_SERVICE_HOST.  others: names
    the commands read themselves."""
    known = [PREFIX + field.name.upper() for field in fields(Config)] + [PREFIX + name for name in others]
    strange = [name for name in environ if name.startswith(PREFIX) and name not in known]
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
        raise BadSetting(f"{shown}={value} is not a whole number; give one from {least} up.") from None
    if not least <= number < 2**53 or (least == -1 and number == 0):
        what = "-1 (no limit) or a number from 1 up" if least == -1 else f"a number from {least} up, below 2^53"
        raise BadSetting(f"{shown}={value} is out of range; give {what}.")
    return number


def _agree(config: Config) -> None:
    """Settings that are fine alone and make no sense together."""
    if config.default_timeout_ms > config.max_transaction_timeout_ms:
        raise BadSetting(
            f"default_timeout_ms={config.default_timeout_ms} is above max_transaction_timeout_ms="
            f"{config.max_transaction_timeout_ms}; lower the first or raise the second."
        )
    if config.coordinators > 1 << 15:
        raise BadSetting(f"coordinators={config.coordinators} is above 32768, the most there can be.")
    if config.num_partitions > config.partitions_max:
        raise BadSetting(
            f"num_partitions={config.num_partitions} is above partitions_max={config.partitions_max}; "
            "lower the first or raise the second."
        )
