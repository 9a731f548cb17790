"""What a user may say about writing, and which columns are written: read into values, or refused in one sentence.

    value           binary or string; must be there
    key             binary or string
    headers         array<struct<key:string,value:binary>>
    topic           string; left alone when the option topic is set
    partition       int; where it is null or missing the key decides, as in Kafka
    deliver_at      timestamp, or bigint: ms since 1970
    deliver_after   bigint: ms from receipt
    timestamp       timestamp; only with keepTimestamp, else the time of writing

Names are those of Spark's Kafka sink where it has them; columns of other names are left alone, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis_ledger.errors import InvalidRequest, InvalidTopicName
from redis_ledger.ids import check_subscription_name, check_topic_name
from redis_ledger.records.batch import COMPRESSIONS
from redis_ledger.spark.offset_options import Offsets, offsets_of
from redis_ledger.spark.read_options import CONNECTION, Connection, Mode, connection, count, given, one_of, switch

# Spark hands these on, whatever they are for.
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
class Writing:
    """topic: of every record, or None when a column says it.  once_name: what steps are counted under; None: the id of
    the query, and a batch job without it is not counted.  compression: its number in records.batch.COMPRESSIONS.
    subscription: what was read is acknowledged there; checkpoint: where a stream writes down what that was; read: what
    it was by the word of a batch job."""

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


def writing(options: Mapping[str, str], mode: Mode) -> Writing:
    """Raises InvalidRequest, InvalidTopicName."""
    texts = given(options, WRITING)
    once_name, number = texts.get("onceName") or None, texts.get("onceNumber")
    if mode == "stream" and number is not None:
        raise InvalidRequest("onceNumber is for batch jobs; a stream counts its own batches, so leave it out.")
    if mode == "batch" and (once_name is None) != (number is None):
        raise InvalidRequest("onceName and onceNumber go together: of which job this is which step; give both or none.")
    if number is not None and not (number.isascii() and number.isdigit() and len(number) <= 15):
        raise InvalidRequest(f"onceNumber is {number!r}; it is a whole number from 0 on.")
    subscription, checkpoint = texts.get("commitSubscription") or None, texts.get("checkpointLocation")
    if subscription is not None:
        if mode == "stream" and checkpoint is None:
            raise InvalidRequest(
                "commitSubscription needs the option checkpointLocation: what was read is written there."
            )
        check_subscription_name(subscription)
    read = _read(texts.get("commitOffsets"), subscription, mode)
    topic = texts.get("topic") or None
    if topic is not None:
        try:
            check_topic_name(topic)
        except InvalidTopicName as error:
            raise InvalidRequest(f"topic: {error.detail}") from None
    return Writing(
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
        raise InvalidRequest("commitOffsets is for batch jobs; a stream knows what it has read, so leave it out.")
    if mode == "batch" and (text is None) != (subscription is None):
        raise InvalidRequest(
            "In a batch job commitSubscription and commitOffsets go together: where to note it, and how far it read."
        )
    if text is None:
        return None
    read = offsets_of("commitOffsets", text)
    if min(read.values()) < 0:
        raise InvalidRequest("commitOffsets says how far was read: each is an offset from 0 on, not a word for one.")
    return read


def check(types: Mapping[str, str], writing: Writing, *, overwrite: bool) -> None:
    """types: of the columns, as Spark writes them.  Raises InvalidRequest for what cannot be written."""
    if overwrite:
        raise InvalidRequest("A topic can only be appended to: use mode append (of a stream, append or update).")
    if "value" not in types:
        raise InvalidRequest("There is no column value; name what is to be written so, as in to_json(struct(*)) value.")
    if writing.topic is None and "topic" not in types:
        raise InvalidRequest("Nothing says which topic; set the option topic, or add a column topic.")
    if "deliver_at" in types and "deliver_after" in types:
        raise InvalidRequest("There are columns deliver_at and deliver_after; give one of them.")
    wanted = dict(TYPES)
    if writing.keep_timestamp:
        wanted[TIMESTAMP] = ("timestamp",)
        if TIMESTAMP not in types:
            raise InvalidRequest(
                "keepTimestamp is on and there is no column timestamp; add it, or leave keepTimestamp."
            )
    for name, kinds in wanted.items():
        if name in types and types[name] not in kinds:
            raise InvalidRequest(f"The column {name} is {types[name]}; it has to be {' or '.join(kinds)}. Cast it.")


def used(types: Mapping[str, str], writing: Writing) -> list[str]:
    """The columns that are written, of those there are."""
    names = [*TYPES, *([TIMESTAMP] if writing.keep_timestamp else [])]
    return [name for name in names if name in types and not (name == "topic" and writing.topic is not None)]
