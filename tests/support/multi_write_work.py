"""Work of a broker that takes more than one write: what it begins with, what it does, and what holds then.

    prepare   by a broker that lives, before        mend    by a broker that lives, after the one that did it died
    act       what the broker that dies does        check   holds after every cut, and when nothing was cut

Each is a function of a broker and the name of a topic, which is new in each case.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import NewRecord
from redis_ledger.errors import GroupNotFound, UnknownSubscription, UnknownTopic
from redis_ledger.ids import MessageId, ScheduledId, TxnId
from redis_ledger.store.keys import encode_name
from redis_ledger.txn.coordinator import Participant
from tests.support.aborted_work import aborted, only_committed_is_left, reclaim_all
from tests.support.broker import eventually, live_transactions, receive_values, records, visible
from tests.support.group_offsets import commit as commit_offsets
from tests.support.group_offsets import offsets, registry

MANY = 700  # messages: every other one of them is more ranges than one call takes
SCHEDULED, BATCHES = 600, 1_200
GHOSTS = 1_200  # participants that are no partitions: more than one call of a coordinator forgets
SUB, HOUR_MS, TIMEOUT_MS, ENDED_S_MAX = "s", 3_600_000, 60_000, 10.0
Act = Callable[[Broker, str], Awaitable[None]]


@dataclass(frozen=True)
class Work:
    """script: the call that the work is cut into.  calls: of it, at least.  only: cut where such a write is."""

    prepare: Act
    act: Act
    mend: Act
    check: Act
    script: str
    calls: int = 2
    only: str = ""


# -- messages ----------------------------------------------------------------------------------------------------------

IDS = [MessageId(0, offset) for offset in range(MANY)]
EVEN, ODD = IDS[::2], IDS[1::2]


async def received(broker: Broker, topic: str, kind: str = "shared") -> None:
    await broker.topics.create(topic, 1)
    await broker.subscriptions.create(topic, SUB, "exclusive" if kind == "exclusive" else "shared")
    await broker.records.produce(topic, records(*(str(n) for n in range(MANY))))
    assert len(await receive_values(broker, topic, SUB, max_records=MANY)) == MANY


async def ack_even(broker: Broker, topic: str) -> None:
    assert await broker.subscriptions.ack(topic, SUB, "c1", EVEN) == len(EVEN)


async def only_odd_are_left(broker: Broker, topic: str) -> None:
    assert await broker.subscriptions.ack(topic, SUB, "c1", ODD) == len(ODD)
    await all_are_acknowledged(broker, topic)


async def all_are_acknowledged(broker: Broker, topic: str) -> None:
    (cursor,) = (await broker.subscriptions.stats(topic, SUB)).cursors
    assert (cursor.mark_delete, cursor.leased, cursor.pending, cursor.backlog) == (MANY, 0, 0, 0)
    assert await receive_values(broker, topic, SUB, "c1") == {}


async def exclusively_received(broker: Broker, topic: str) -> None:
    await received(broker, topic, "exclusive")
    await broker.subscriptions.ack(topic, SUB, "c1", ODD[:-1])


async def ack_up_to_the_last(broker: Broker, topic: str) -> None:
    await broker.subscriptions.ack_cumulative(topic, SUB, "c1", IDS[-1])


async def received_and_odd_acknowledged(broker: Broker, topic: str) -> None:
    await received(broker, topic)
    await broker.subscriptions.ack(topic, SUB, "c1", ODD)


async def hand_all_back(broker: Broker, topic: str) -> None:
    await broker.subscriptions.nack(topic, SUB, "c1", None)


async def even_come_again(broker: Broker, topic: str) -> None:
    found: list[MessageId] = []
    while some := await receive_values(broker, topic, SUB, "c2", max_records=MANY):
        found += some
    assert sorted(found) == EVEN
    await broker.subscriptions.ack(topic, SUB, "c2", found)
    await all_are_acknowledged(broker, topic)


# -- transactions ------------------------------------------------------------------------------------------------------


async def begun(broker: Broker, topic: str) -> TxnId:
    return (await broker.transactions.begin(TIMEOUT_MS, owner=topic)).id


async def open_of(broker: Broker, topic: str) -> list[TxnId]:
    return [txn.id for txn in await broker.transactions.list("open", owner=topic)]


async def received_and_begun(broker: Broker, topic: str) -> None:
    await received(broker, topic)
    await begun(broker, topic)


async def hold_even(broker: Broker, topic: str) -> None:
    (txn,) = await open_of(broker, topic)
    await broker.subscriptions.ack(topic, SUB, "c1", EVEN, transaction=txn)


async def abort(broker: Broker, topic: str) -> None:
    for txn in await open_of(broker, topic):
        await broker.transactions.abort(txn)


async def all_can_be_acknowledged(broker: Broker, topic: str) -> None:
    assert await broker.subscriptions.ack(topic, SUB, "c1", IDS) == MANY
    await all_are_acknowledged(broker, topic)


async def held(broker: Broker, topic: str) -> None:
    await received_and_begun(broker, topic)
    await hold_even(broker, topic)


async def commit(broker: Broker, topic: str) -> None:
    (txn,) = await open_of(broker, topic)
    await broker.transactions.commit(txn)


async def ended(broker: Broker, topic: str) -> None:
    """Decided transactions complete; the others are aborted, as by their timeout."""
    await abort(broker, topic)

    async def live() -> int:
        return len([txn for txn in await broker.transactions.list(owner=topic) if txn.status.endswith("ing")])

    assert await eventually(live, 0, ENDED_S_MAX) == 0
    assert await eventually(lambda: live_transactions(broker), 0, ENDED_S_MAX) == 0


async def is_committed(broker: Broker, topic: str) -> bool:
    (txn,) = await broker.transactions.list(owner=topic)
    assert txn.status in ("committed", "aborted")
    return txn.status == "committed"


async def held_ones_are_settled(broker: Broker, topic: str) -> None:
    left = ODD if await is_committed(broker, topic) else IDS
    assert await broker.subscriptions.ack(topic, SUB, "c1", left) == len(left)
    await all_are_acknowledged(broker, topic)


PARTITIONS = 20  # their names are so long that they do not fit into the row of a transaction


def wide_name(topic: str) -> str:
    return topic.ljust(249, "x")


async def written_widely(broker: Broker, topic: str) -> None:
    await broker.topics.create(wide_name(topic), PARTITIONS)
    rows = [records("v", partition=n)[0] for n in range(PARTITIONS)]
    await broker.records.produce(wide_name(topic), rows, transaction=await begun(broker, topic))
    assert await wide_participants(broker) > 0


async def seen_on_all_or_none(broker: Broker, topic: str) -> None:
    rows = (await visible(broker, wide_name(topic))).items()
    seen = {n: values.count("v") for n, values in rows if "v" in values}
    assert seen == (dict.fromkeys(range(PARTITIONS), 1) if await is_committed(broker, topic) else {})
    assert await wide_participants(broker) == 0


async def wide_participants(broker: Broker) -> int:
    k = next(iter(broker.coordinators)).keys
    return int(await broker.store.command("ZCARD", k.wide, key=k.state)) - 1


async def with_ghosts(broker: Broker, topic: str) -> None:
    txn = await begun(broker, topic)
    for first in range(0, GHOSTS, 300):
        ghosts = [Participant(f"no-{topic}", "0" * 32, first + n) for n in range(300)]
        await broker.coordinators.add(txn, ghosts)


async def nothing_of_ghosts_is_left(broker: Broker, topic: str) -> None:
    k = next(iter(broker.coordinators)).keys
    left = [int(await broker.store.command(*each, key=k.state)) for each in (("HLEN", k.live), ("XLEN", k.log))]
    assert (await wide_participants(broker), left) == (0, [1, 0])


# -- scheduled records -------------------------------------------------------------------------------------------------


async def scheduled(broker: Broker, topic: str) -> None:
    await broker.topics.create(topic, 3)
    await schedule(broker, topic, 50, txn=None)


async def schedule(broker: Broker, topic: str, each: int, txn: TxnId | None, partitions: int = 3) -> None:
    due = broker.delayed.now_ms() + HOUR_MS
    for number in range(partitions):
        rows = [NewRecord(None, b"v", partition=number, deliver_at_ms=due + n) for n in range(each)]
        await broker.records.produce(topic, rows, transaction=txn)


async def clear(broker: Broker, topic: str) -> None:
    await broker.delayed.clear(topic)


async def nothing_is_scheduled(broker: Broker, topic: str) -> None:
    assert await broker.delayed.pending(topic) == 0
    assert await broker.delayed.list(topic) == ([], None)
    await schedule(broker, topic, 2, txn=None, partitions=1)
    assert await broker.delayed.pending(topic) == len((await broker.delayed.list(topic))[0]) > 0


async def scheduled_in_one(broker: Broker, topic: str) -> None:
    await broker.topics.create(topic, 1)
    await schedule(broker, topic, SCHEDULED, txn=None, partitions=1)


async def cancel_all(broker: Broker, topic: str) -> None:
    ids = [ScheduledId(0, entry, 0) for entry in range(1, SCHEDULED + 1)]
    assert set(await broker.delayed.cancel(topic, ids)) == {None}


async def scheduled_in_a_transaction(broker: Broker, topic: str) -> None:
    await broker.topics.create(topic, 1)
    await schedule(broker, topic, SCHEDULED, await begun(broker, topic), partitions=1)


async def settled(broker: Broker, topic: str) -> None:
    await ended(broker, topic)
    await broker.delayed.scan()


async def all_or_none_are_scheduled(broker: Broker, topic: str) -> None:
    wanted = SCHEDULED if await is_committed(broker, topic) else 0
    assert await eventually(lambda: broker.delayed.pending(topic), wanted, ENDED_S_MAX) == wanted


# -- what goes as a whole ----------------------------------------------------------------------------------------------


async def subscribed(broker: Broker, topic: str) -> None:
    await broker.topics.create(topic, 4)
    await broker.subscriptions.create(topic, SUB, "shared")
    await broker.records.produce(topic, [records(f"v{n}", partition=n)[0] for n in range(4)])
    messages = await receive_values(broker, topic, SUB)
    await broker.subscriptions.ack(topic, SUB, "c1", list(messages)[:2])


async def seek(broker: Broker, topic: str) -> None:
    await broker.subscriptions.seek(topic, SUB, to="earliest")


async def all_come_again(broker: Broker, topic: str) -> None:
    assert sorted((await receive_values(broker, topic, SUB, "c2")).values()) == ["v0", "v1", "v2", "v3"]


async def unsubscribe(broker: Broker, topic: str) -> None:
    with contextlib.suppress(UnknownSubscription):
        await broker.subscriptions.delete(topic, SUB)


async def no_cursor_is_left(broker: Broker, topic: str) -> None:
    assert await keys_of(broker, f"{{{topic}:*}}:sub:*") == []
    await broker.subscriptions.create(topic, SUB, "shared")
    await all_come_again(broker, topic)


async def keys_of(broker: Broker, pattern: str) -> list[bytes]:
    """On one server, or on all nodes of a cluster: there a key names where to look."""
    found = set[bytes]()
    topic = pattern[1:].partition(":")[0]
    for number in range(PARTITIONS):
        key = f"{broker.store.prefix}:{{{topic}:{number}}}:state"
        found |= set(await broker.store.command("KEYS", f"{broker.store.prefix}:{pattern}", key=key.encode()))
    return sorted(found)


async def of_all_kinds(broker: Broker, topic: str) -> None:
    await subscribed(broker, topic)
    await schedule(broker, topic, 2, txn=None)
    await commit_offsets(broker, (topic, 0, 1), (topic, 3, 1), group=f"g-{topic}")


async def delete_topic(broker: Broker, topic: str) -> None:
    with contextlib.suppress(UnknownTopic):
        await broker.topics.delete(topic)


async def delete_topic_of_another(broker: Broker, topic: str) -> None:
    """A topic that is being deleted is not there for callers; the next look at the catalog goes on with it."""
    await delete_topic(broker, topic)
    await broker.catalog.refresh()


async def nothing_of_the_topic_is_left(broker: Broker, topic: str) -> None:
    async def left() -> list[bytes]:
        await broker.catalog.refresh()
        return await keys_of(broker, f"{{{topic}:*}}:*")

    nothing: list[bytes] = []
    assert await eventually(left, nothing, ENDED_S_MAX) == []
    await broker.topics.create(topic, 1)
    assert await visible(broker, topic) == {}


async def with_offsets(broker: Broker, topic: str) -> None:
    for name in (topic, f"{topic}b"):
        await broker.topics.create(name, 3)
        await commit_offsets(broker, *((name, n, 5) for n in range(3)), group=f"g-{topic}")


async def delete_group(broker: Broker, topic: str) -> None:
    with contextlib.suppress(GroupNotFound):
        await broker.groups.delete(f"g-{topic}")


async def nothing_of_the_group_is_left(broker: Broker, topic: str) -> None:
    group = f"g-{topic}"
    assert await keys_of(broker, f"{{{topic}:*}}:sub:*") == []
    assert await keys_of(broker, f"{{{topic}b:*}}:sub:*") == []
    assert await offsets(broker, group) == {}
    assert encode_name(group).encode() not in await registry(broker)


async def batches(broker: Broker, topic: str) -> None:
    await broker.topics.create(topic, 1)
    for n in range(BATCHES):
        await broker.records.produce(topic, records(str(n)))


async def delete_records(broker: Broker, topic: str) -> None:
    assert await broker.topics.delete_records(topic, 0, BATCHES - 10) == BATCHES - 10


async def the_last_are_left(broker: Broker, topic: str) -> None:
    await broker.records.produce(topic, records("more"))
    wanted = [str(n) for n in range(BATCHES - 10, BATCHES)]
    assert await visible(broker, topic) == {0: [*wanted, "more"]}


WORKS = {
    "reclaim": Work(aborted, reclaim_all, reclaim_all, only_committed_is_left, "ledger/reclaim", 5),
    "ack": Work(received, ack_even, ack_even, only_odd_are_left, "cursor/ack", 4),
    "ack cumulative": Work(
        exclusively_received, ack_up_to_the_last, ack_up_to_the_last, all_are_acknowledged, "cursor/ack_cumulative", 4
    ),
    "nack": Work(received_and_odd_acknowledged, hand_all_back, hand_all_back, even_come_again, "cursor/nack"),
    "hold": Work(received_and_begun, hold_even, abort, all_can_be_acknowledged, "cursor/pending_ack", 4),
    "end of what is held": Work(held, commit, ended, held_ones_are_settled, "txn/end"),
    "wide end": Work(written_widely, commit, ended, seen_on_all_or_none, "txn/end", PARTITIONS),
    "done": Work(with_ghosts, commit, ended, nothing_of_ghosts_is_left, "txn/apply", only="txn/apply"),
    "clear": Work(scheduled, clear, clear, nothing_is_scheduled, "delay/clear", 3),
    "cancel": Work(scheduled_in_one, cancel_all, cancel_all, nothing_is_scheduled, "delay/cancel"),
    "end of what is scheduled": Work(
        scheduled_in_a_transaction, commit, settled, all_or_none_are_scheduled, "delay/settle"
    ),
    "seek": Work(subscribed, seek, seek, all_come_again, "cursor/seek", 4),
    "delete subscription": Work(subscribed, unsubscribe, unsubscribe, no_cursor_is_left, "cursor/delete", 4),
    "delete topic": Work(
        of_all_kinds, delete_topic, delete_topic_of_another, nothing_of_the_topic_is_left, "ledger/delete", 8
    ),
    "delete group": Work(
        with_offsets, delete_group, delete_group, nothing_of_the_group_is_left, "cursor/offset_delete", 6
    ),
    "delete records": Work(batches, delete_records, delete_records, the_last_are_left, "ledger/trim", 3),
}
