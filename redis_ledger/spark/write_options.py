"""Options of a write, and the columns that are written: parsed into values, or refused with one sentence.

    value           binary or string; required
    key             binary or string
    headers         array<struct<key:string,value:binary>>
    topic           string; ignored if the option topic is set
    partition       int; if null or missing, the key selects the partition, as in Kafka
    deliver_at      timestamp, or bigint: ms since 1970
    deliver_after   bigint: ms from receipt
    timestamp       timestamp; only with keepTimestamp, else the time of writing

Names are those of Spark's Kafka sink where it has them; other columns are ignored, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis_ledger.errors import InvalidRequest, InvalidTopicName
from redis_ledger.ids import check_subscription_name, check_topic_name
from redis_ledger.records.batch import COMPRESSIONS
from redis_ledger.spark.offset_options import Offsets, parse_offsets
from redis_ledger.spark.read_options import CONNECTION, Connection, Mode, connection, count, normalized, one_of, switch

# Spark passes these on, whatever they are for.
NOT_OURS = ("queryName", "checkpointLocation", "path")
WRITING = (
    *CONNECTION, "topic", "onceName", "onceNumber", "compression", "batchBytes", "transactionTimeoutMs",
    "keepTimestamp", "commitSubscription", "commitOffsets", *NOT_OURS,
)  # fmt: skip
BATCH_BYTES, BATCH_BYTES_MAX = 1 << 20, 64 << 20
TRANSACTION_TIMEOUT_MS = 600_000

_BYTES = ("binary", "string")
TYPES: Mapping[str, Sequence[str]] = {
    "value": _BYTES,
    "key": _BYTES,
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int",),
    "deliver_at": ("timestamp", "bigint"),
    "deliver_after": ("bigint",),
}
TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class WriteOptions:
    """topic: of every record, or None: from the column.  once_name: names the sequence of steps; None: the id of the
    query, and a batch job without it is not counted.  compression: number in records.batch.COMPRESSIONS.  subscription:
    where the source's records are acknowledged.  checkpoint: of the stream, with the offsets read.  read: the offsets
    read, for a batch job."""

    connection: Connection
    topic: str | None
    once_name: str | None
    once_number: int | None
    compression: int
    batch_bytes: int
    transaction_timeout_ms: int
    keep_timestamp: bool
    subscription: str | None
    checkpoint: str | None
    read: Offsets | None = None


def parse_write_options(options: Mapping[str, str], mode: Mode) -> WriteOptions:
    """Raises InvalidRequest, InvalidTopicName."""
    texts = normalized(options, WRITING)
    once_name, number = texts.get("onceName") or None, texts.get("onceNumber")
    if mode == "stream" and number is not None:
        raise InvalidRequest("onceNumber is for batch jobs; a stream counts its own batches, so remove it.")
    if mode == "batch" and (once_name is None) != (number is None):
        raise InvalidRequest(
            "onceName and onceNumber go together: the job and the number of its step; set both or none."
        )
    if number is not None and not (number.isascii() and number.isdigit() and len(number) <= 15):
        raise InvalidRequest(f"onceNumber is {number!r}; expected a whole number of at least 0.")
    subscription, checkpoint = texts.get("commitSubscription") or None, texts.get("checkpointLocation")
    if subscription is not None:
        if mode == "stream" and checkpoint is None:
            raise InvalidRequest(
                "commitSubscription needs the option checkpointLocation, which has the offsets that were read."
            )
        check_subscription_name(subscription)
    read = _read(texts.get("commitOffsets"), subscription, mode)
    topic = texts.get("topic") or None
    if topic is not None:
        try:
            check_topic_name(topic)
        except InvalidTopicName as error:
            raise InvalidRequest(f"topic: {error.detail}") from None
    return WriteOptions(
        connection=connection(texts),
        topic=topic,
        once_name=once_name,
        once_number=None if number is None else int(number),
        compression=COMPRESSIONS.index(one_of(texts, "compression", COMPRESSIONS, "none")),
        batch_bytes=count(texts, "batchBytes", most=BATCH_BYTES_MAX) or BATCH_BYTES,
        transaction_timeout_ms=count(texts, "transactionTimeoutMs") or TRANSACTION_TIMEOUT_MS,
        keep_timestamp=switch(texts, "keepTimestamp", False),
        subscription=subscription,
        checkpoint=checkpoint,
        read=read,
    )


def _read(text: str | None, subscription: str | None, mode: Mode) -> Offsets | None:
    if mode == "stream" and text is not None:
        raise InvalidRequest(
            "commitOffsets is for batch jobs; a stream has its offsets in the checkpoint, so remove it."
        )
    if mode == "batch" and (text is None) != (subscription is None):
        raise InvalidRequest("In a batch job commitSubscription and commitOffsets go together: set both or none.")
    if text is None:
        return None
    read = parse_offsets("commitOffsets", text)
    if min(read.values()) < 0:
        raise InvalidRequest("commitOffsets: each offset must be a number of at least 0, not earliest or latest.")
    return read


def check(types: Mapping[str, str], writing: WriteOptions, *, overwrite: bool) -> None:
    """types: of the columns, in Spark's syntax.  Raises InvalidRequest for columns that cannot be written."""
    if overwrite:
        raise InvalidRequest("A topic is append-only: use mode append (for a stream, append or update).")
    if "value" not in types:
        raise InvalidRequest("The column value is missing; name the value so, as in to_json(struct(*)) AS value.")
    if writing.topic is None and "topic" not in types:
        raise InvalidRequest("There is no topic; set the option topic, or add a column topic.")
    if "deliver_at" in types and "deliver_after" in types:
        raise InvalidRequest("deliver_at and deliver_after exclude each other; remove one of the columns.")
    wanted = dict(TYPES)
    if writing.keep_timestamp:
        wanted[TIMESTAMP] = ("timestamp",)
        if TIMESTAMP not in types:
            raise InvalidRequest(
                "keepTimestamp is set but there is no column timestamp; add it, or remove keepTimestamp."
            )
    for name, kinds in wanted.items():
        if name in types and types[name] not in kinds:
            raise InvalidRequest(f"The column {name} is {types[name]}; expected {' or '.join(kinds)}. Cast it.")


def used(types: Mapping[str, str], writing: WriteOptions) -> list[str]:
    """Returns those of the columns that are written."""
    names = [*TYPES, *([TIMESTAMP] if writing.keep_timestamp else [])]
    return [name for name in names if name in types and not (name == "topic" and writing.topic is not None)]
