"""What topics and records promise."""

from __future__ import annotations

from redis_ledger.records.partitioner import partition_for
from tests.model.answers import (
    ENDED,
    LOWERED,
    TOO_LARGE,
    Answer,
    Arguments,
    Part,
    has_ended,
    may_be_lowered,
    refused,
    specifies,
    unchanged,
    was_deleted,
)
from tests.model.state import ABORTED, EXECUTED, Place, State, Topic, Txn

WINDOW = 5  # batches of a request with an Idempotency-Key for one partition
# A batch before it was lost, or was for a topic of this name that was deleted: the client has to abort.
SEQUENCES = ("sequence_gap", "unknown_producer", "duplicate_sequence")

# Topics


@specifies("create_topic")
def create_topic(state: State, given: Arguments, answer: Answer) -> list[State]:
    if given["topic"] in state.topics:
        return refused(state, answer, "topic_exists")
    if not answer.is_ok:
        return []
    incarnation = state.deleted.get(given["topic"], (0, 0))[0] + 1
    counts, limits = frozenset([given["partitions"]]), frozenset([given["bytes_max"]])
    topic = Topic((given["topic"], incarnation), given["partitions"], given["buffer"], counts, limits)
    return [state.put("topics", given["topic"], topic)]


@specifies("grow_topic")
def grow_topic(state: State, given: Arguments, answer: Answer) -> list[State]:
    topic = state.topics.get(given["topic"])
    if topic is None:
        return refused(state, answer, "unknown_topic")
    if given["partitions"] <= topic.partitions and answer.code == "invalid_partitions":
        return [state]
    if given["partitions"] < topic.partitions and answer.code == "invalid_request":
        return [state]  # another request has given it more
    grown = topic._replace(
        partitions=max(topic.partitions, given["partitions"]), counts=topic.counts | {given["partitions"]}
    )
    return [state.put("topics", given["topic"], grown)] if answer.is_ok else []


@specifies("limit_batches")
def limit_batches(state: State, given: Arguments, answer: Answer) -> list[State]:
    topic = state.topics.get(given["topic"])
    if topic is None:
        return refused(state, answer, "unknown_topic")
    changed = topic._replace(limits=topic.limits | {given["bytes_max"]})
    return [state.put("topics", given["topic"], changed)] if answer.is_ok else []


@specifies("delete_topic")
def delete_topic(state: State, given: Arguments, answer: Answer) -> list[State]:
    if given["topic"] not in state.topics:
        # A deletion that meets another one completes it.
        return refused(state, answer, "unknown_topic", *(("ok",) if was_deleted(state, given["topic"]) else ()))
    return [state.without_topic(given["topic"])] if answer.is_ok else []


@specifies("list_topics")
def list_topics(state: State, given: Arguments, answer: Answer) -> list[State]:
    there = {name: topic.partitions for name, topic in state.topics.items()}
    return [state] if not answer.says or answer.value == there else []


# Records


@specifies("produce")
def produce(state: State, given: Arguments, answer: Answer) -> list[State]:
    """One batch for one partition, perhaps in a transaction.  The answer has the offset of its first record."""
    found = _writable(state, given, answer)
    if isinstance(found, list):
        return found
    place, base = found, answer.value if answer.says else None
    key = given.get("txn")
    if key is None:
        added = state.append(place, given["values"], base)
        return [added] if answer.is_ok and added is not None else []
    if given["values"] in state.keyed:  # a Kafka producer sends it again, with the same sequence
        return unchanged(state, answer)
    txn = state.txns.get(key, Txn())
    if txn.status != "open":
        return refused(state, answer, *ENDED)
    if not answer.is_ok:
        return refused(state, answer, *(SEQUENCES if "#" in key else ()))
    added = write_in(state, key, txn, place, given["values"], base)
    return [added.put("keyed", given["values"], True)] if added is not None else []


def write_in(state: State, key: str, txn: Txn, place: Place, values: tuple[str, ...], base: int | None) -> State | None:
    """Records of an open transaction: in the log with the marker buffer, without a place in the sidecar buffer."""
    topic = state.topic_of(place)
    assert topic is not None
    txn = txn._replace(places=txn.places | {place})
    if topic.buffer == "marker":
        return state.put("txns", key, txn).append(place, values, base, key)
    if base not in (None, -1):
        return None
    return state.put("txns", key, txn._replace(waiting=(*txn.waiting, *((place, value, 0) for value in values))))


def _writable(state: State, given: Arguments, answer: Answer) -> Place | list[State]:
    """The partition, or the states after a refusal."""
    topic = state.topics.get(given["topic"])
    if topic is None:
        return refused(state, answer, "unknown_topic", *(ENDED if has_ended(state, given) else ()))
    if given["partition"] >= topic.partitions:
        return refused(state, answer, "unknown_partition", *(ENDED if has_ended(state, given) else ()))
    return topic.id, given["partition"]


@specifies("produce_keyed")
def produce_keyed(state: State, part: Part, answer: Answer) -> list[State]:
    """One record of a request with an Idempotency-Key: it is written once, whatever happens between two attempts."""
    done, topic = (part["key"], part["value"]), state.topics.get(part["topic"])
    if done in state.keyed and (topic is None or state.keyed[done] == topic.id):
        return [state] if answer.is_ok or answer.code in ("unknown_topic", *TOO_LARGE) else []
    is_large = part["bytes"] > LOWERED or part["batches"] > WINDOW
    if is_large and answer.code in TOO_LARGE and may_be_lowered(state, part["topic"]):
        return [state]
    if topic is None:
        return refused(state, answer, "unknown_topic")
    if part["batches"] > WINDOW and topic.limits == {LOWERED} and done not in state.keyed:
        return refused(state, answer, *TOO_LARGE)
    if not answer.is_ok or part["bytes"] > max(topic.limits, default=part["bytes"]):
        return [state] if answer.code in ("unknown_topic", *TOO_LARGE) else []  # another record of it is refused
    # The first topic of this name is gone with its records: those of a repetition may be written to the next one.
    found = [state] if done in state.keyed else []
    layout = "layout", part["key"], topic.id  # a broker may not know the newest number of partitions; all use the same
    for count in [state.keyed[layout]] if layout in state.keyed else topic.counts:
        partition = partition_for(part["record_key"], count)
        before = [value for key, value in part["before"] if partition_for(key, count) == partition]
        offsets = [offset for number, offset in answer.value if number == partition] if answer.says else []
        is_next = all(state.keyed.get((part["key"], value)) == topic.id for value in before)
        if is_next and (not answer.says or len(before) < len(offsets)):
            offset = offsets[len(before)] if answer.says else None
            added = state.append((topic.id, partition), (part["value"],), offset)
            found += [added.put("keyed", done, topic.id).put("keyed", layout, count)] if added is not None else []
    return found


@specifies("fetch")
def fetch(state: State, given: Arguments, answer: Answer) -> list[State]:
    """All records of a partition, as offset and value."""
    place, found = state.place(given["topic"], given["partition"]), []
    if place is None:
        found = refused(state, answer, "unknown_topic" if given["topic"] not in state.topics else "unknown_partition")
    elif not answer.says:
        found = unchanged(state, answer)
    elif (read := state.read(place, _decided(given, answer), committed=given["committed"])) is not None:
        found = [read]
    if was_deleted(state, given["topic"]):
        present = {record.value for record in state.log(place).records} if place is not None else set()
        if answer.code in ("unknown_topic", "unknown_topic_or_partition") or (
            answer.says and present.isdisjoint(v for _, v in answer.value)
        ):
            found = [*found, state]
    return found


def _decided(given: Arguments, answer: Answer) -> list[tuple[int, str]]:
    """Without what a reader of uncommitted records may get of attempts that were aborted."""
    return [r for r in answer.value if given["committed"] or not r[1].startswith(EXECUTED)]


@specifies("delete_records")
def delete_records(state: State, given: Arguments, answer: Answer) -> list[State]:
    """Deletes all records below an offset and below the first open transaction; the answer has the new start."""
    place = state.place(given["topic"], given["partition"])
    if place is None:
        return refused(state, answer, "unknown_topic", "unknown_partition")
    log, before = state.log(place), given["before"]
    if before > state.end_offset_least(place) and answer.code == "offset_out_of_range":
        return [state]
    if not answer.is_ok or (answer.says and answer.value < min(before, log.start)):
        return []
    found, is_open = [], [r.txn not in ("", ABORTED) for r in log.records]
    before = answer.value if answer.says else before
    if answer.says and before < min(given["before"], state.end_offset_least(place)) and not any(is_open):
        return []
    for cut in range(len(log.records) + 1):  # several are possible while offsets are unknown
        if any(is_open[:cut]):
            break
        below = all(r.offset is None or r.offset < before for r in log.records[:cut])
        if below and all(r.offset is None or r.offset >= before for r in log.records[cut:]):
            kept = log._replace(records=log.records[cut:], start=max(log.start, before))
            found.append(state.put("logs", place, kept))
    if not answer.says and any(is_open):
        cut = is_open.index(True)
        found.append(state.put("logs", place, log._replace(records=log.records[cut:])))
    return found
