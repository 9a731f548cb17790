"""Maps Kafka's configuration names of topics, brokers and groups to our settings.

    retention.ms      ─▶ retention_ms        the topic's own value, else the broker's, else the default
    compression.type  ─▶ compression_type    the topic's own value, stored and shown without effect
    cleanup.policy    ─▶ "delete"            read-only: it can be set to this value only

A read-only name is listed because admin tools expect it.  The catalog stores changes, so REST shows the same settings.
Source: KIP-133, KIP-226 (synonyms), KIP-339 (incremental changes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from redis_ledger.config import Config
from redis_ledger.errors import InvalidConfig, InvalidRequest
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.settings import AFTER, BEFORE, COMPRESSION, DELAYED, SETTINGS, TIMESTAMP_TYPE, WORDS

LONG_MAX = str((1 << 63) - 1)
_SWITCH = {"true": 1, "false": 0}
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}\Z")


class Type(IntEnum):
    """Of a value, in answers to DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class Source(IntEnum):
    TOPIC = 1
    STATIC_BROKER = 4  # given at start
    DEFAULT = 5


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


OPERATIONS = frozenset(int(operation) for operation in Operation)


class Setting(NamedTuple):
    """A configuration under Kafka's name.  broker: its name as a broker configuration.  ours: the topic setting
    (ledger.settings.SETTINGS), "" if it is read-only."""

    name: str
    type: Type
    value: Callable[[Config], str | None]
    documentation: str
    broker: str = ""
    ours: str = ""

    @property
    def read_only(self) -> bool:
        return not self.ours

    @property
    def words(self) -> Mapping[str, int] | None:
        """Its values as words, and the stored numbers; None if the value is a number."""
        return _SWITCH if self.type == Type.BOOLEAN else WORDS.get(self.ours)


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: Source


class Described(NamedTuple):
    """synonyms: the sources of the value, the one in effect first.  value None: not set."""

    name: str
    value: str | None
    type: Type
    source: Source
    read_only: bool
    synonyms: Sequence[Synonym]
    documentation: str


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None


def _of(field: str, divided_by: int = 1) -> Callable[[Config], str]:
    def value(config: Config) -> str:
        found = getattr(config, field)
        if isinstance(found, str):
            return found
        return str(found).lower() if isinstance(found, bool) else str(found // divided_by)

    return value


def _own(name: str, kind: Type, ours: str, broker: str, documentation: str) -> Setting:
    return Setting(name, kind, _of(ours), documentation, broker, ours)


def _fixed(name: str, kind: Type, value: str, documentation: str, broker: str = "") -> Setting:
    return Setting(name, kind, lambda _: value, documentation, broker)


def _broker(name: str, kind: Type, field: str, documentation: str, divided_by: int = 1) -> Setting:
    return Setting(name, kind, _of(field, divided_by), documentation)


def _table(*rows: Setting) -> dict[str, Setting]:
    return {row.name: row for row in sorted(rows)}


TOPIC = _table(
    _own("retention.ms", Type.LONG, "retention_ms", "log.retention.ms", "Older records are trimmed; -1 keeps them."),
    _own("retention.bytes", Type.LONG, "retention_bytes", "log.retention.bytes", "Kept per partition; -1: no limit."),
    _own(
        "retention.acknowledged", Type.BOOLEAN, "retention_acknowledged", "log.retention.acknowledged",
        "true: retention.ms and retention.bytes trim only what every subscription has acknowledged.",
    ),
    _own("max.message.bytes", Type.INT, "batch_bytes_max", "message.max.bytes", "Largest record batch."),
    _own("segment.bytes", Type.INT, "ledger_bytes_max", "log.segment.bytes", "A ledger of this size is sealed."),
    _own("segment.ms", Type.LONG, "ledger_age_ms_max", "log.roll.ms", "A ledger of this age is sealed."),
    Setting(
        "delayed.delivery", Type.BOOLEAN, lambda _: None,
        "true: the headers deliver-at and deliver-after delay a record. false: records are never delayed. "
        "Unset: REST and the SDK can delay records, headers cannot.", ours=DELAYED,
    ),
    _own(
        "delayed.delivery.max.delay.ms", Type.LONG, "delayed_delivery_max_delay_ms", "delayed.delivery.max.delay.ms",
        "Longest delay; 0: no limit.",
    ),
    _own(
        "delayed.delivery.tick.time.ms", Type.LONG, "delayed_delivery_tick_time_ms", "delayed.delivery.tick.time.ms",
        "Time for which due records are gathered.",
    ),
    _fixed("cleanup.policy", Type.LIST, "delete", "Topics are not compacted.", "log.cleanup.policy"),
    Setting(
        "compression.type", Type.STRING, lambda _: "producer",
        "Stored without effect: batches are stored as they were sent.", "compression.type", COMPRESSION,
    ),
    _own(
        "max.unacked.per.consumer", Type.INT, "max_unacked_per_consumer", "max.unacked.per.consumer",
        "Unacknowledged messages that a consumer of a subscription may have on a partition; 0: no limit.",
    ),
    _own(
        "max.unacked.per.subscription", Type.INT, "max_unacked_per_subscription", "max.unacked.per.subscription",
        "Unacknowledged messages that a subscription may have on a partition; 0: no limit.",
    ),
    _own(
        "min.insync.replicas", Type.INT, "min_insync_replicas", "min.insync.replicas",
        "At durability replicas: copies in Redis that a write with acks=all needs, the primary's included. The higher "
        "of the broker's and the topic's value counts.",
    ),
    _own(
        "transaction.buffer", Type.STRING, "txn_buffer", "transaction.buffer",
        "marker: readers with read_committed wait for the oldest open transaction. sidecar: records of a transaction "
        "get their offsets when it commits, so readers wait for none.",
    ),
    _own(
        "message.timestamp.type", Type.STRING, TIMESTAMP_TYPE, "log.message.timestamp.type",
        "CreateTime: a record has the timestamp of its producer. LogAppendTime: the time at which it was received.",
    ),
    _own(
        "message.timestamp.before.max.ms", Type.LONG, BEFORE, "log.message.timestamp.before.max.ms",
        "A batch of a Kafka client whose first timestamp is older than this is refused.",
    ),
    _own(
        "message.timestamp.after.max.ms", Type.LONG, AFTER, "log.message.timestamp.after.max.ms",
        "A batch of a Kafka client whose newest timestamp is further ahead than this is refused.",
    ),
    _fixed("delete.retention.ms", Type.LONG, "86400000", "Without effect: nothing is compacted."),
    _fixed("min.cleanable.dirty.ratio", Type.DOUBLE, "0.5", "Without effect: nothing is compacted."),
    _fixed("min.compaction.lag.ms", Type.LONG, "0", "Without effect: nothing is compacted."),
    _fixed("max.compaction.lag.ms", Type.LONG, LONG_MAX, "Without effect: nothing is compacted."),
    _fixed("file.delete.delay.ms", Type.LONG, "0", "A ledger is deleted when it is not referenced."),
    _fixed("flush.messages", Type.LONG, LONG_MAX, "Redis decides when to fsync (appendfsync)."),
    _fixed("flush.ms", Type.LONG, LONG_MAX, "Redis decides when to fsync (appendfsync)."),
    _fixed("segment.jitter.ms", Type.LONG, "0", "Ledgers are sealed without jitter."),
    _fixed("segment.index.bytes", Type.INT, "10485760", "Without effect: there are no index files."),
    _fixed("index.interval.bytes", Type.INT, "4096", "Without effect: there are no index files."),
    _fixed("preallocate", Type.BOOLEAN, "false", "Without effect: there are no segment files."),
    _fixed("unclean.leader.election.enable", Type.BOOLEAN, "false", "There is no leader election: state is in Redis."),
    _fixed("remote.storage.enable", Type.BOOLEAN, "false", "A job offloads history to Parquet, for any topic."),
    _fixed("local.retention.ms", Type.LONG, "-2", "As retention.ms."),
    _fixed("local.retention.bytes", Type.LONG, "-2", "As retention.bytes."),
)  # fmt: skip

BROKER = _table(
    *(Setting(row.broker, row.type, row.value, row.documentation) for row in TOPIC.values() if row.broker),
    _broker("auto.create.topics.enable", Type.BOOLEAN, "auto_create_topics", "Produce and Metadata may create topics."),
    _broker("num.partitions", Type.INT, "num_partitions", "Default number of partitions."),
    _broker("socket.request.max.bytes", Type.INT, "kafka_request_bytes_max", "Largest request."),
    _broker("max.connections", Type.INT, "kafka_connections_max", "Maximum connections of one broker."),
    _broker("connections.max.idle.ms", Type.LONG, "kafka_idle_ms", "An idle connection is closed after this time."),
    _broker("transaction.max.timeout.ms", Type.INT, "max_transaction_timeout_ms", "Maximum timeout of a transaction."),
    _broker("group.initial.rebalance.delay.ms", Type.INT, "group_initial_rebalance_delay_ms", "Of an empty group."),
    _broker("group.min.session.timeout.ms", Type.INT, "group_session_timeout_ms_min", "Minimum of a member."),
    _broker("group.max.session.timeout.ms", Type.INT, "group_session_timeout_ms_max", "Maximum of a member."),
    _broker("group.max.size", Type.INT, "group_members_max", "Maximum members of a group."),
    _broker("group.consumer.heartbeat.interval.ms", Type.INT, "group_heartbeat_ms", "Consumer protocol."),
    _broker("group.consumer.session.timeout.ms", Type.INT, "group_session_ms", "Consumer protocol."),
    _broker("offset.metadata.max.bytes", Type.INT, "offset_metadata_bytes_max", "Largest offset metadata."),
    _broker(
        "offsets.retention.minutes", Type.INT, "offsets_retention_ms", "Retention of an empty group's offsets.", 60_000
    ),
    _fixed("default.replication.factor", Type.INT, "1", "Redis replicates, not the brokers."),
    _fixed("delete.topic.enable", Type.BOOLEAN, "true", "Topics can be deleted."),
    _fixed("unclean.leader.election.enable", Type.BOOLEAN, "false", "There is no leader election: state is in Redis."),
    _fixed("log.dirs", Type.STRING, "redis", "All state is in Redis."),
)  # fmt: skip

GROUP = _table(
    Setting(
        "consumer.heartbeat.interval.ms", Type.INT, _of("group_heartbeat_ms"), "Heartbeats of the consumer protocol.",
        "group.consumer.heartbeat.interval.ms",
    ),
    Setting(
        "consumer.session.timeout.ms", Type.INT, _of("group_session_ms"), "A member without heartbeats is removed.",
        "group.consumer.session.timeout.ms",
    ),
)  # fmt: skip

DEFAULTS = Config()


def describe(table: Mapping[str, Setting], config: Config, own: Mapping[str, int]) -> list[Described]:
    """Every row with its value.  own: the topic's settings."""
    return [_describe(row, config, own) for row in table.values()]


def _describe(row: Setting, config: Config, own: Mapping[str, int]) -> Described:
    here, default, inherited = row.value(config), row.value(DEFAULTS), row.broker or row.name
    synonyms = [Synonym(inherited, default, Source.DEFAULT)]
    if here != default:
        synonyms.insert(0, Synonym(inherited, here, Source.STATIC_BROKER))
    if row.ours in own:
        synonyms.insert(0, Synonym(row.name, _text(row, own[row.ours]), Source.TOPIC))
    first = synonyms[0]
    return Described(row.name, first.value, row.type, first.source, row.read_only, synonyms, row.documentation)


def _text(row: Setting, value: int) -> str:
    return next((word for word, number in (row.words or {}).items() if number == value), str(value))


def row_of(name: str) -> Setting:
    row = TOPIC.get(name)
    if row is None:
        raise InvalidConfig(f"There is no topic configuration {name[:80]!r}.")
    return row


def parse_settings(given: Iterable[tuple[str, str | None]]) -> dict[str, int]:
    """A topic's own settings from Kafka's names and values.  Raises InvalidConfig."""
    own: dict[str, int] = {}
    for name, value in given:
        row = row_of(name)
        if value is None:
            raise InvalidConfig(f"{name} has no value.")
        own.update(_parse(row, value))
    return own


def _parse(row: Setting, text: str) -> dict[str, int]:
    """{our name: value}; empty for a read-only row with its own value."""
    if row.read_only:
        fixed = row.value(DEFAULTS)
        if text.strip() == fixed:
            return {}
        if row.name == "cleanup.policy":
            raise InvalidConfig(_no_policy(text))
        raise InvalidConfig(f"{row.name} is {fixed} and cannot be {text[:80]!r}. {row.documentation}")
    if row.words is not None:
        word = text.strip().lower() if row.type == Type.BOOLEAN else text.strip()
        if word not in row.words:
            *others, last = row.words
            raise InvalidConfig(f"{row.name} is {', '.join(others)} or {last}, not {text[:80]!r}.")
        return {row.ours: row.words[word]}
    least, most = SETTINGS[row.ours]
    if _NUMBER.match(text.strip()) is None or not least <= int(text) <= most:
        raise InvalidConfig(f"{row.name} is a number from {least} to {most}, not {text[:80]!r}.")
    return {row.ours: int(text)}


def _no_policy(text: str) -> str:
    if "compact" in text:
        return (
            f"cleanup.policy cannot be {text[:80]!r}: topics are not compacted. Use delete; with retention.ms=-1 and "
            "retention.bytes=-1 a topic keeps every record, so no key is lost."
        )
    return (
        f"cleanup.policy is delete and cannot be {text[:80]!r}; retention.ms=-1 and retention.bytes=-1 keep everything."
    )


def parse_changes(changes: Sequence[Change]) -> dict[str, int | None]:
    """Incremental changes as settings to set, or (None) to unset.  Raises InvalidConfig, InvalidRequest."""
    _check_names([change.name for change in changes])
    result: dict[str, int | None] = {}
    for name, operation, value in changes:
        if operation not in OPERATIONS:
            raise InvalidRequest(f"{operation} is not an operation on {name[:80]!r}.")
        row = row_of(name)
        if operation == Operation.DELETE:
            if row.ours:
                result[row.ours] = None
            continue
        if value is None:
            raise InvalidRequest(f"{name} has no value.")
        if operation != Operation.SET:
            value = _join(row, operation, value)
        result.update(_parse(row, value))
    return result


def _join(row: Setting, operation: int, value: str) -> str:
    if row.type != Type.LIST:
        raise InvalidConfig(f"{row.name} is not a list, so values cannot be added or removed.")
    items = (row.value(DEFAULTS) or "").split(",")
    for item in filter(None, map(str.strip, value.split(","))):
        if operation == Operation.APPEND and item not in items:
            items.append(item)
        elif operation == Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


def parse_replacement(given: Sequence[tuple[str, str | None]]) -> dict[str, int | None]:
    """All of a topic's settings; those not given are unset.  Raises InvalidConfig, InvalidRequest."""
    _check_names([name for name, _ in given])
    for name, value in given:
        if value is None:
            raise InvalidRequest(f"{name} has no value.")
    return {**dict.fromkeys(SETTINGS), **parse_settings(given)}


def _check_names(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise InvalidRequest("A configuration is given twice.")


class Configs:
    """Describes configurations of topics, brokers and groups, and changes those of topics."""

    def __init__(self, catalog: Catalog, config: Config) -> None:
        self._catalog, self._config = catalog, config

    async def of_topic(self, name: str) -> list[Described]:
        """Raises UnknownTopic, InvalidTopicName."""
        return self.of_settings((await self._catalog.get(name, fresh=True)).settings)

    def of_settings(self, own: Mapping[str, int]) -> list[Described]:
        """The configurations of a topic with these settings."""
        return describe(TOPIC, self._config, own)

    def of_broker(self) -> list[Described]:
        return describe(BROKER, self._config, {})

    def of_group(self) -> list[Described]:
        return describe(GROUP, self._config, {})

    async def change(self, topic: str, settings: Mapping[str, int | None], *, validate_only: bool) -> None:
        """settings: as `changed` or `replaced` made them.  Raises UnknownTopic, InvalidTopicName, TopicBusy."""
        await self._catalog.change(topic, None, settings, validate_only=validate_only)
