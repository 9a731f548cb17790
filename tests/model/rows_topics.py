"""Rows of topics and of records."""

from __future__ import annotations

from collections.abc import Callable

from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tests.model.answers import HOUR_MS, LARGE, LOWERED, MEDIUM, PARTITIONS_MAX, RAISED, TOPICS, Answer
from tests.model.brokers import path
from tests.model.rows import (
    Given,
    Session,
    a_partition,
    a_topic,
    base_offset,
    kafka_answer,
    row,
    some_records,
    texts,
)
from tests.model.steps import Known
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced, with_offsets

# Topics


def _new_topic(known: Known, number: int) -> Given | None:
    missing = [name for name in TOPICS if name not in known.topics]
    if not missing and known.rng.random() > 0.1:
        return None
    return {
        "topic": known.pick(missing or TOPICS), "partitions": known.rng.choice((1, 1, 2)),
        "buffer": known.pick(("marker", "sidecar")), "bytes_max": known.pick((LOWERED, RAISED, RAISED)),
    }  # fmt: skip


def _limits(given: Given) -> Given:
    delay_ms = HOUR_MS if given["bytes_max"] == LOWERED else 0
    return {"batch_bytes_max": given["bytes_max"], "delayed_delivery_max_delay_ms": delay_ms}


@row("create_topic", "create_topic", "REST", 3, _new_topic)
async def _create(session: Session, given: Given) -> Answer:
    settings = {"txn_buffer": given["buffer"], **_limits(given)}
    body = {"name": given["topic"], "partitions": given["partitions"], "settings": settings}
    return await session.rest("POST", path("topics"), body)


def _grown(known: Known, number: int) -> Given | None:
    topic = known.topic()
    return {"topic": topic, "partitions": min(known.topics.get(topic, 1) + 1, PARTITIONS_MAX)} if topic else None


@row("grow_topic", "grow_topic", "REST", 2.5, _grown)
async def _grow(session: Session, given: Given) -> Answer:
    return await session.rest("PATCH", path("topics", given["topic"]), {"partitions": given["partitions"]})


@row("CreatePartitions", "grow_topic", "Kafka", 0.5, _grown)
async def _create_partitions(session: Session, given: Given) -> Answer:
    asked = CreatePartitionsRequest([CreatePartitionsTopic(given["topic"], given["partitions"], None)], 5_000, False)
    return kafka_answer((await session.kafka(asked, 3)).results[0].error_code)


def _limited(bytes_max: int) -> Callable[[Known, int], Given | None]:
    def draw(known: Known, number: int) -> Given | None:
        topic = known.topic()
        return {"topic": topic, "bytes_max": bytes_max} if topic else None

    return draw


async def _limit(session: Session, given: Given) -> Answer:
    return await session.rest("PATCH", path("topics", given["topic"]), {"settings": _limits(given)})


row("lower_limit", "limit_batches", "REST", 0.5, _limited(LOWERED))(_limit)
row("raise_limit", "limit_batches", "REST", 0.5, _limited(RAISED))(_limit)


@row("delete_topic", "delete_topic", "REST", 1.5, a_topic)
async def _delete(session: Session, given: Given) -> Answer:
    return await session.rest("DELETE", path("topics", given["topic"]))


@row("DeleteTopics", "delete_topic", "Kafka", 0.5, a_topic)
async def _delete_topics(session: Session, given: Given) -> Answer:
    asked = DeleteTopicsRequest([DeleteTopicState(given["topic"])], [], 5_000)
    return kafka_answer((await session.kafka(asked, 6)).responses[0].error_code)


@row("list_topics", "list_topics", "REST", 1, lambda known, number: {})
async def _list_topics(session: Session, given: Given) -> Answer:
    return await session.rest(
        "GET", path("topics"), value=lambda body: {each["name"]: each["partitions"] for each in body["topics"]}
    )


# Records


@row("produce", "produce", "REST", 4, some_records)
async def _produce(session: Session, given: Given) -> Answer:
    body = {"records": texts(given["values"]), "partition": given["partition"]}
    return await session.rest("POST", path("topics", given["topic"], "records"), body, value=base_offset)


@row("Produce", "produce", "Kafka", 3, some_records)
async def _kafka_produce(session: Session, given: Given) -> Answer:
    asked = produce(given["topic"], batch(*given["values"]), partition=given["partition"])
    answer = produced(await session.kafka(asked, 10))
    return kafka_answer(answer.error_code, answer.base_offset)


def _keyed_records(known: Known, number: int) -> Given | None:
    topic = known.topic()
    if topic is None:
        return None
    size = known.rng.choice((0, 0, 0, 0, MEDIUM, MEDIUM, LARGE, LARGE))
    if size == MEDIUM:  # of one partition; with the lowered limit, a batch each
        rows = tuple((b"k", f"v{number}.{n}") for n in range(known.rng.choice((2, 5, 6))))
    else:
        rows = tuple((f"k{n}".encode(), f"v{number}.{n}") for n in range(known.rng.choice((1, 2, 3))))
    return {"topic": topic, "key": f"key-{number}", "records": rows, "bytes": size}


@row("produce_keyed", "produce_keyed", "REST", 3, _keyed_records, True)
async def _produce_keyed(session: Session, given: Given) -> Answer:
    padding = {"pad": "x" * given["bytes"]} if given["bytes"] else {}
    records = [{"key": key.decode(), "text": value, "headers": padding} for key, value in given["records"]]
    return await session.rest(
        "POST", path("topics", given["topic"], "records"), {"records": records}, key=given["key"],
        value=lambda body: [
            (each["partition"], each["base_offset"] + n) for each in body["results"] for n in range(each["records"])
        ],
    )  # fmt: skip


def _read(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    return given and {**given, "committed": known.rng.random() < 0.7}


@row("fetch", "fetch", "REST", 4, _read)
async def _fetch(session: Session, given: Given) -> Answer:
    isolation = "read_committed" if given["committed"] else "read_uncommitted"
    where = path("topics", given["topic"], "partitions", given["partition"], "records", isolation=isolation)
    return await session.rest(
        "GET", f"{where}&as=text", value=lambda body: [(each["offset"], each["text"]) for each in body["records"]]
    )


@row("Fetch", "fetch", "Kafka", 2, _read)
async def _kafka_fetch(session: Session, given: Given) -> Answer:
    offset = 0
    while True:
        asked = fetch(given["topic"], offset, partitions=[given["partition"]], committed=given["committed"])
        data = fetched(await session.kafka(asked, 11))
        if data.error_code != 1 or data.log_start_offset <= offset:
            break
        offset = data.log_start_offset
    if data.error_code:
        return kafka_answer(data.error_code)
    found = with_offsets(data, committed=given["committed"])
    return Answer("ok", [each for each in found if each[0] >= offset])


def _cut(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    return given and {**given, "before": known.rng.choice((0, 1, 2, 4, 8))}


@row("DeleteRecords", "delete_records", "Kafka", 0.7, _cut)
async def _delete_records(session: Session, given: Given) -> Answer:
    partitions = [DeleteRecordsPartition(given["partition"], given["before"])]
    asked = DeleteRecordsRequest([DeleteRecordsTopic(given["topic"], partitions)], 5_000)
    answer = (await session.kafka(asked, 2)).topics[0].partitions[0]
    return kafka_answer(answer.error_code, answer.low_watermark)
