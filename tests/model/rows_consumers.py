"""Rows of Kafka's transactional producers, of subscriptions, and of the offsets of Kafka groups.

A Kafka transaction is named x#3: the third of the transactional id x.  Requests of transaction version 1 name only the
producer and its epoch, so a late one must not meet x#4.
"""

from __future__ import annotations

from collections.abc import Callable

from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.model.answers import Answer
from tests.model.brokers import path
from tests.model.rows import Given, Producer, Session, a_partition, a_topic, kafka_answer, row, some_records
from tests.model.steps import Known
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_offsets import committing

GROUPS, CONSUMERS, PRODUCERS_MAX = ("g",), ("c1", "c2"), 2

# Kafka's transactional producers


def _new_producer(known: Known, number: int) -> Given | None:
    # A name of its own: an InitProducerId that is carried out late fences the producer of its name (0056).
    return {"producer": f"x{number}"} if len(known.kafka) < PRODUCERS_MAX else None


@row("InitProducerId", "init_producer", "Kafka", 2, _new_producer)
async def _init(session: Session, given: Given) -> Answer:
    answer = await session.kafka(InitProducerIdRequest(given["producer"], 600_000), 4)
    session.producers[given["producer"]] = Producer(answer.producer_id, answer.producer_epoch)
    return kafka_answer(answer.error_code)


def _ready(known: Known) -> str | None:
    """A producer that waits for no answer: one that was lost is repeated first."""
    waiting = known.busy | {story.step.arguments.get("txn", "").partition("#")[0] for story in known.owed}
    name: str | None = known.pick([name for name in known.kafka if name not in waiting])
    return name


def _kafka_records(known: Known, number: int) -> Given | None:
    name, given = _ready(known), some_records(known, number)
    return {**given, "txn": f"{name}#{known.kafka[name][0]}"} if name and given else None


@row("TxnProduce", "produce", "Kafka", 5, _kafka_records, True)
async def _txn_produce(session: Session, given: Given) -> Answer:
    name = given["txn"].partition("#")[0]
    producer, place = session.producers[name], (given["topic"], given["partition"])
    topics = [AddPartitionsToTxnTopic(place[0], [place[1]])]
    asked = AddPartitionsToTxnRequest([], name, producer.id, producer.epoch, topics)
    added = await session.kafka(asked, 3)
    if code := added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
        return kafka_answer(code)
    values = given["values"]
    sequence = producer.sent.setdefault(values[0], producer.sequences.get(place, 0))
    producer.sequences[place] = max(producer.sequences.get(place, 0), sequence + len(values))
    data = batch(*values, producer=(producer.id, producer.epoch, sequence), transactional=True)
    answer = produced(await session.kafka(produce(place[0], data, partition=place[1], transactional_id=name), 10))
    return kafka_answer(answer.error_code, answer.base_offset)


def _ending(outcome: str) -> Callable[[Known, int], Given | None]:
    def draw(known: Known, number: int) -> Given | None:
        name = _ready(known)
        if name is None or not known.kafka[name][1]:
            return None
        return known.ending(f"{name}#{known.kafka[name][0]}", outcome)

    return draw


async def _end(session: Session, given: Given) -> Answer:
    name = given["txn"].partition("#")[0]
    producer = session.producers[name]
    asked = EndTxnRequest(name, producer.id, producer.epoch, given["outcome"] == "committed")
    return kafka_answer((await session.kafka(asked, 3)).error_code)


row("EndTxn, commit", "commit", "Kafka", 3, _ending("committed"), True)(_end)
row("EndTxn, abort", "abort", "Kafka", 2, _ending("aborted"), True)(_end)

# Offsets of Kafka groups


def _an_offset(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    return given and {**given, "group": known.pick(GROUPS), "offset": number}


@row("OffsetCommit", "commit_offset", "Kafka", 1.5, _an_offset)
async def _commit_offset(session: Session, given: Given) -> Answer:
    asked = committing((given["topic"], given["partition"], given["offset"]), group=given["group"])
    return kafka_answer((await session.kafka(asked, 8)).topics[0].partitions[0].error_code)


def _an_offset_in(known: Known, number: int) -> Given | None:
    name, given = _ready(known), _an_offset(known, number)
    return {**given, "txn": f"{name}#{known.kafka[name][0]}"} if name and given else None


@row("TxnOffsetCommit", "commit_offset", "Kafka", 2, _an_offset_in, True)
async def _txn_offset_commit(session: Session, given: Given) -> Answer:
    name, group = given["txn"].partition("#")[0], given["group"]
    producer = session.producers[name]
    added = await session.kafka(AddOffsetsToTxnRequest(name, producer.id, producer.epoch, group), 3)
    if added.error_code:
        return kafka_answer(added.error_code)
    partitions = [TxnOffsetCommitRequestPartition(given["partition"], given["offset"])]
    topics = [TxnOffsetCommitRequestTopic(given["topic"], bytes(16), partitions)]
    asked = TxnOffsetCommitRequest(name, group, producer.id, producer.epoch, -1, "", None, topics)
    return kafka_answer((await session.kafka(asked, 3)).topics[0].partitions[0].error_code)


def _offset_read(known: Known, number: int) -> Given | None:
    given = a_partition(known, number)
    return given and {**given, "group": known.pick(GROUPS)}


@row("OffsetFetch", "fetch_offset", "Kafka", 1.5, _offset_read)
async def _fetch_offset(session: Session, given: Given) -> Answer:
    topics = [OffsetFetchRequestTopics(given["topic"], bytes(16), [given["partition"]])]
    asked = OffsetFetchRequest("", [], [OffsetFetchRequestGroup(given["group"], None, -1, topics)], False)
    group = (await session.kafka(asked, 8)).groups[0]
    found = group.topics[0].partitions[0] if group.topics else group
    return kafka_answer(group.error_code or found.error_code, getattr(found, "committed_offset", -1))


def _a_group(known: Known, number: int) -> Given | None:
    return {"group": known.pick(GROUPS)} if known.groups else None


@row("DeleteGroups", "delete_group", "Kafka", 0.7, _a_group)
async def _delete_group(session: Session, given: Given) -> Answer:
    return kafka_answer((await session.kafka(DeleteGroupsRequest([given["group"]]), 2)).results[0].error_code)


# Subscriptions of the kind `shared`


def _to_subscribe(known: Known, number: int) -> Given | None:
    given = a_topic(known, number)
    return given and {**given, "name": "s"}


@row("subscribe", "subscribe", "REST", 1.5, _to_subscribe)
async def _subscribe(session: Session, given: Given) -> Answer:
    body = {"name": given["name"], "kind": "shared", "start": "earliest"}
    return await session.rest("POST", path("topics", given["topic"], "subscriptions"), body)


def _on(given: Given, verb: str) -> str:
    return f"{path('topics', given['topic'], 'subscriptions', given['name'])}:{verb}"


def _to_receive(known: Known, number: int) -> Given | None:
    found = known.pick(known.subscriptions)
    if found is None:
        return None
    partition, consumer = known.partition(found[0]), known.pick(CONSUMERS)
    return {"topic": found[0], "name": found[1], "partition": partition, "consumer": consumer}


@row("receive", "receive", "REST", 3, _to_receive)
async def _receive(session: Session, given: Given) -> Answer:
    body = {"consumer": given["consumer"], "max_records": 3, "partitions": [given["partition"]], "as": "text"}
    return await session.rest(
        "POST", _on(given, "receive"), body,
        value=lambda answer: [(each["offset"], each["text"]) for each in answer["messages"]],
    )  # fmt: skip


def _to_acknowledge(known: Known, number: int) -> Given | None:
    step = known.pick(list(known.received)[-4:])
    if step is None:
        return None
    return {**known.received[step], "received": step, "take": known.rng.choice((1, 2, 3)), "is_nack": False}


def _ids(given: Given) -> list[str]:
    return [f"{given['partition']}:{offset}" for offset in given["offsets"]]


@row("ack", "ack", "REST", 2, _to_acknowledge)
async def _ack(session: Session, given: Given) -> Answer:
    return await session.rest("POST", _on(given, "ack"), {"ids": _ids(given), "consumer": given["consumer"]})


def _to_acknowledge_in(known: Known, number: int) -> Given | None:
    txn, given = known.pick(known.open), _to_acknowledge(known, number)
    return {**given, "txn": txn} if txn and given else None


@row("ack_in", "ack", "REST", 2, _to_acknowledge_in)
async def _ack_in(session: Session, given: Given) -> Answer:
    body = {"ids": _ids(given), "consumer": given["consumer"], "transaction": session.ids[given["txn"]]}
    return await session.rest("POST", _on(given, "ack"), body)


def _to_return(known: Known, number: int) -> Given | None:
    given = _to_acknowledge(known, number)
    return given and {**given, "is_nack": True}


@row("nack", "nack", "REST", 1, _to_return)
async def _nack(session: Session, given: Given) -> Answer:
    return await session.rest("POST", _on(given, "nack"), {"ids": _ids(given), "consumer": given["consumer"]})


@row("seek", "seek", "REST", 0.7, _to_receive)
async def _seek(session: Session, given: Given) -> Answer:
    return await session.rest("POST", _on(given, "seek"), {"offsets": {str(given["partition"]): 0}})
