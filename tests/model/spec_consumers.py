"""What subscriptions and the offsets of Kafka groups promise."""

from __future__ import annotations

from tests.model.answers import ENDED, UNSURE, Answer, Arguments, Part, has_ended, refused, specifies, unchanged
from tests.model.state import State, Subscription, TopicId, Txn

# Subscriptions of the kind `shared`


@specifies("subscribe")
def subscribe(state: State, given: Arguments, answer: Answer) -> list[State]:
    topic = state.topics.get(given["topic"])
    if topic is None:
        return refused(state, answer, "unknown_topic")
    name = topic.id, given["name"]
    there = state.subscriptions.get(name, Subscription())
    return [state.put("subscriptions", name, there)] if answer.is_ok else []


def _cursor(state: State, given: Arguments, answer: Answer) -> tuple[tuple[TopicId, str], Subscription] | list[State]:
    topic = state.topics.get(given["topic"])
    if topic is None:
        return refused(state, answer, "unknown_topic", "unknown_subscription")
    name = topic.id, given["name"]
    if name not in state.subscriptions:
        return refused(state, answer, "unknown_subscription")
    if given.get("partition", 0) >= topic.partitions:
        return refused(state, answer, "unknown_partition", "invalid_position")
    return name, state.subscriptions[name]


def pending(state: State, name: tuple[TopicId, str]) -> set[tuple[int, int]]:
    """What transactions have acknowledged that are not applied yet."""
    return {(p, offset) for txn in state.txns.values() for sub, p, offset in txn.acks if sub == name}


@specifies("receive")
def receive(state: State, given: Arguments, answer: Answer) -> list[State]:
    """Messages that are committed, not acknowledged, not leased: each at most to one consumer.  From one partition."""
    found = _cursor(state, given, answer)
    if isinstance(found, list):
        return found
    name, cursor = found
    if not answer.says:
        return unchanged(state, answer)
    partition, got = given["partition"], dict(answer.value)
    place = name[0], partition
    held = pending(state, name) | cursor.acked | {lease[:2] for lease in cursor.leased}
    there = {record.value: record for record in state.committed(place)}
    learned = {r.value: r._replace(offset=offset) for offset, v in got.items() for r in [there.get(v)] if r is not None}
    for offset, value in got.items():
        if value not in there or there[value].offset not in (None, offset) or (partition, offset) in held:
            return []
    log = state.log(place)
    state = state.put("logs", place, log._replace(records=tuple(learned.get(r.value, r) for r in log.records)))
    leased = cursor.leased | {(partition, offset, given["consumer"]) for offset in got}
    return [state.put("subscriptions", name, cursor._replace(leased=leased))]


@specifies("ack", "nack")
def acknowledge(state: State, given: Arguments, answer: Answer) -> list[State]:
    """Of one partition: all or nothing."""
    found = _cursor(state, given, answer)
    if isinstance(found, list):
        return [*found, *(refused(state, answer, *ENDED) if has_ended(state, given) else ())]
    name, cursor = found
    ids = {(given["partition"], offset) for offset in given["offsets"]}
    mine = {lease[:2] for lease in cursor.leased if lease[2] == given["consumer"]}
    key = given.get("txn")
    if key is not None:
        mine |= {(p, offset) for sub, p, offset in state.txns[key].acks if sub == name}
    others = ids - cursor.acked - mine - (pending(state, name) if key is None else set())
    refusals = ("not_your_message", "not_delivered", "invalid_position") if others or given["is_nack"] else ()
    if ids & pending(state, name) or (given.get("txn") and ids & cursor.acked):
        refusals = (*refusals, "transaction_conflict")
    if has_ended(state, given):
        refusals = (*refusals, *ENDED)
    states = [state] if refusals and answer.code in refusals else []
    if states and key is not None and state.txns[key].status == "open":  # one that failed may be aborted by it
        states.append(state.put("txns", key, state.txns[key]._replace(status="aborted")))
    if not answer.is_ok or (has_ended(state, given)):
        return states
    leased = frozenset(lease for lease in cursor.leased if lease[:2] not in ids or lease[2] != given["consumer"])
    if given["is_nack"]:
        return [*states, state.put("subscriptions", name, cursor._replace(leased=leased))]
    leased_to_others = {lease[:2] for lease in cursor.leased} - mine
    if ids & leased_to_others:
        return states
    if key is None:
        # What an open transaction has acknowledged stays with it.
        cursor = cursor._replace(leased=leased, acked=cursor.acked | (ids - pending(state, name)))
        return [*states, state.put("subscriptions", name, cursor)]
    txn = state.txns[key]
    mine_already = {(p, offset) for sub, p, offset in txn.acks if sub == name}
    if ids & (pending(state, name) - mine_already):
        return states
    acks = txn.acks | {(name, p, offset) for p, offset in ids}
    held = txn._replace(acks=acks, places=txn.places | {(name[0], given["partition"])})
    return [*states, state.put("subscriptions", name, cursor._replace(leased=leased)).put("txns", key, held)]


@specifies("seek")
def seek(state: State, given: Arguments, answer: Answer) -> list[State]:
    """To the earliest record, in one partition: leases, acknowledgements and those of open transactions are dropped."""
    found = _cursor(state, given, answer)
    if isinstance(found, list):
        return found
    if not answer.is_ok:
        return []
    name, cursor = found
    partition = given["partition"]
    for key, txn in state.txns.items():
        acks = frozenset(ack for ack in txn.acks if ack[0] != name or ack[1] != partition)
        state = state.put("txns", key, txn._replace(acks=acks))
    cursor = Subscription(
        frozenset(ack for ack in cursor.acked if ack[0] != partition),
        frozenset(lease for lease in cursor.leased if lease[0] != partition),
    )
    return [state.put("subscriptions", name, cursor)]


# Offsets of Kafka groups


@specifies("commit_offset")
def commit_offset(state: State, given: Arguments, answer: Answer) -> list[State]:
    """Without members the last write wins.  In a transaction it is stored by the commit, unless a later one was."""
    place = state.place(given["topic"], given["partition"])
    if place is None:
        return refused(state, answer, "unknown_topic", "unknown_partition")
    key = given.get("txn")
    if not answer.is_ok and key is None:
        return []
    group = given["group"]
    pending_writes = [each[3] for txn in state.txns.values() for each in txn.offsets if each[:2] == (group, place)]
    write = 1 + max([state.offsets.get((group, place), (0, 0))[1], *pending_writes])
    if key is None:
        return [state.put("offsets", (group, place), (given["offset"], write))]
    txn = state.txns.get(key, Txn())
    if txn.status != "open":
        return refused(state, answer, *ENDED)
    others = tuple(each for each in txn.offsets if each[:2] != (group, place))
    held = txn._replace(places=txn.places | {place}, offsets=(*others, (group, place, given["offset"], write)))
    return [state.put("txns", key, held)] if answer.is_ok else []


@specifies("fetch_offset")
def fetch_offset(state: State, given: Arguments, answer: Answer) -> list[State]:
    place = state.place(given["topic"], given["partition"])
    if not answer.says:
        return refused(state, answer, "unknown_topic", "unknown_partition", *UNSURE)
    there = -1 if place is None else state.offsets.get((given["group"], place), (-1, 0))[0]
    return [state] if answer.value == there else []


@specifies("delete_group")
def delete_group(state: State, part: Part, answer: Answer) -> list[State]:
    """One partition's offset.  Offsets that open transactions hold go as well."""
    if answer.code == "group_not_found":
        return [state] if not any(group == part["group"] for group, _ in state.offsets) else []
    place = state.place(part["topic"], part["partition"])
    if not answer.is_ok or place is None:
        return unchanged(state, answer)
    for key, txn in state.txns.items():
        offsets = tuple(each for each in txn.offsets if each[:2] != (part["group"], place))
        state = state.put("txns", key, txn._replace(offsets=offsets))
    return [state.put("offsets", (part["group"], place), None)]
