"""Settings of a topic, which override those of the broker.

    topic's own value ─▶ else the broker's (config.py) of the same name

delayed_delivery has three values: 1 turns delayed delivery on for every protocol, including the headers deliver-at and
deliver-after of Kafka records; 0 turns it off; unset ignores the headers and uses the broker's delayed_delivery_enabled
for the rest.

min_insync_replicas has an effect at durability `replicas`, if it is above the broker's.  compression_type is stored and
shown without effect, because Kafka tools set it on topics: batches are stored as they were sent.

txn_buffer chooses where records of open transactions are: among the others, up to a marker, or in a sidecar buffer
(docs/decisions/0044).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest

INT32_MAX, INT64_MAX = (1 << 31) - 1, (1 << 63) - 1
DELAYED, COMPRESSION, TXN_BUFFER = "delayed_delivery", "compression_type", "txn_buffer"
TIMESTAMP_TYPE, BEFORE, AFTER = (
    "message_timestamp_type", "message_timestamp_before_ms_max", "message_timestamp_after_ms_max",
)  # fmt: skip
WITHOUT_EFFECT = frozenset((COMPRESSION,))
SWITCHES = frozenset(("retention_acknowledged", DELAYED))
# Kafka's names, by the number of the codec in a record batch; -1 is what the producer chose.
CODECS = {"producer": -1, "uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
BUFFERS = {"marker": 0, "sidecar": 1}
CREATE_TIME = "CreateTime"
TIMESTAMP_TYPES = {CREATE_TIME: 0, "LogAppendTime": 1}
WORDS = {COMPRESSION: CODECS, TXN_BUFFER: BUFFERS, TIMESTAMP_TYPE: TIMESTAMP_TYPES}  # settings whose values have names
_NAMES = {setting: {number: name for name, number in words.items()} for setting, words in WORDS.items()}
SETTINGS = {  # name: minimum, maximum
    "retention_ms": (-1, INT64_MAX),
    "retention_bytes": (-1, INT64_MAX),
    "retention_acknowledged": (0, 1),
    "batch_bytes_max": (0, INT32_MAX),
    "ledger_bytes_max": (1 << 20, INT32_MAX),
    "ledger_age_ms_max": (1_000, INT64_MAX),
    DELAYED: (0, 1),
    "delayed_delivery_max_delay_ms": (0, INT64_MAX),
    "delayed_delivery_tick_time_ms": (0, 60_000),
    "min_insync_replicas": (1, INT32_MAX),
    "max_unacked_per_consumer": (0, INT32_MAX),
    "max_unacked_per_subscription": (0, INT32_MAX),
    COMPRESSION: (min(CODECS.values()), max(CODECS.values())),
    TXN_BUFFER: (0, 1),
    TIMESTAMP_TYPE: (0, 1),
    BEFORE: (0, INT64_MAX),
    AFTER: (0, INT64_MAX),
}
# Settings that a topic has only if it was given them.
UNSET = WITHOUT_EFFECT | {DELAYED, "min_insync_replicas", "max_unacked_per_consumer", "max_unacked_per_subscription",
                          TIMESTAMP_TYPE, BEFORE, AFTER}  # fmt: skip


def check(settings: Mapping[str, int]) -> None:
    """Raises InvalidRequest."""
    for name, value in settings.items():
        if name not in SETTINGS:
            raise InvalidRequest(f"There is no topic setting {name!r}; there are {', '.join(sorted(SETTINGS))}.")
        least, most = SETTINGS[name]
        if not least <= value <= most:
            raise InvalidRequest(f"{name} is {value}; it must be {least} to {most}.")


def over(settings: Mapping[str, int], config: Config) -> Config:
    """The broker's config with the settings of a topic applied."""
    own: dict[str, Any] = {n: value for n, value in settings.items() if n in SETTINGS and n not in WITHOUT_EFFECT}
    own |= {name: _NAMES[name][own[name]] for name in WORDS if name in own}
    delayed = own.pop(DELAYED, None)
    if delayed is not None:
        own["delayed_delivery_enabled"] = bool(delayed)
    return replace(config, **own) if own else config


def effective(settings: Mapping[str, int], config: Config) -> dict[str, int]:
    """The value of every setting; those in UNSET only if the topic has them."""
    names = (name for name in SETTINGS if name not in UNSET or name in settings)
    return {name: settings[name] if name in settings else _number(name, getattr(config, name)) for name in names}


def delays_by_headers(settings: Mapping[str, int]) -> bool:
    return settings.get(DELAYED) == 1


def to_body(settings: Mapping[str, int]) -> dict[str, int | bool | str]:
    """The settings as a client sees them; the catalog stores numbers only."""
    body: dict[str, int | bool | str] = dict(settings)
    for name, value in settings.items():
        if name in SWITCHES:
            body[name] = bool(value)
        elif name in WORDS:
            body[name] = _NAMES[name][value]
    return body


def parse(given: Mapping[str, int | bool | str | None]) -> dict[str, int | None]:
    """The stored numbers for the settings a client sent; the inverse of `to_body`.  None: unset."""
    return {name: None if value is None else _number(name, value) for name, value in given.items()}


def _number(name: str, value: int | bool | str) -> int:
    return WORDS[name][value] if isinstance(value, str) else int(value)
