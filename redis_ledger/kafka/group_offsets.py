"""Common parts of requests about group offsets: topics by name or id, and error codes.

    request ─ read ─▶ entries to commit, each with its slot in the response ─▶ committed ─ settle ─▶ response

A rejected partition does not affect the others.  If a partition occurs several times, the last permitted entry counts,
as in Kafka: only that one is written, and all its slots get the same result.  A coordinator that is temporarily
unreachable is COORDINATOR_LOAD_IN_PROGRESS: all clients then wait and retry without looking it up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import LedgerError, MetadataTooLarge, TopicForbidden, Unavailable
from redis_ledger.kafka.partition_lookup import PartitionLookup
from redis_ledger.kafka.request_context import COORDINATOR_LOADING, NONE, RequestContext, code_of


class Commits(NamedTuple):
    """The entries to commit.  last: by topic and partition.  slots: the positions of each in the response.  topics: the
    topics of the response."""

    last: dict[tuple[str, int], OffsetEntry]
    slots: dict[tuple[str, int], list[Any]]
    topics: list[Any]

    @property
    def entries(self) -> list[OffsetEntry]:
        return [*self.last.values()]

    def add(self, entry: OffsetEntry, slot: Any) -> None:
        place = (entry.topic, entry.partition)
        self.last[place] = entry
        self.slots.setdefault(place, []).append(slot)

    async def settle(self, outcomes: Iterable[LedgerError | None], code: Callable[[LedgerError], int]) -> None:
        """outcomes: results of the entries, in order."""
        pace = Pace()
        for place, error in zip(self.last, outcomes, strict=True):
            for slot in self.slots[place]:
                slot.error_code = NONE if error is None else code(error)
            if pace.is_over:
                await pace.rest()

    async def refuse(self, error: LedgerError, code: Callable[[LedgerError], int]) -> None:
        await self.settle([error] * len(self.last), code)


async def read_commits(
    topics: Sequence[Any],
    call: RequestContext,
    by_id: bool,
    topic_class: Callable[..., Any],
    slot_class: Callable[..., Any],
) -> Commits:
    """Reads an OffsetCommit or TxnOffsetCommit, whose topics have the same fields.  The classes are of the response."""
    commits, pace = Commits({}, {}, []), Pace()
    names = await topic_names(topics, call, by_id)
    room = call.broker.config.offset_metadata_bytes_max
    for topic, name in zip(topics, names, strict=True):
        answer = topic_class(topic.name, topic.topic_id, [])
        commits.topics.append(answer)
        for requested in topic.partitions:
            if pace.is_over:
                await pace.rest()
            slot = slot_class(requested.partition_index, NONE)
            answer.partitions.append(slot)
            metadata = requested.committed_metadata or ""
            if isinstance(name, LedgerError):
                slot.error_code = coordinator_code(name)
            elif not call.allows(Op.READ, Resource.TOPIC, name):
                slot.error_code = TopicForbidden.kafka_code
            elif len(metadata.encode()) > room:
                slot.error_code = MetadataTooLarge.kafka_code
            else:
                entry = OffsetEntry(
                    name,
                    requested.partition_index,
                    requested.committed_offset,
                    requested.committed_leader_epoch,
                    metadata,
                )
                commits.add(entry, slot)
    return commits


def refused_commits(
    topics: Sequence[Any], error: LedgerError, topic_class: Callable[..., Any], slot_class: Callable[..., Any]
) -> list[Any]:
    """The topics of the response if the whole request is rejected."""
    return [
        topic_class(
            topic.name, topic.topic_id, [slot_class(p.partition_index, code_of(error)) for p in topic.partitions]
        )
        for topic in topics
    ]


async def topic_names(topics: Sequence[Any], call: RequestContext, by_id: bool) -> list[str | LedgerError]:
    """The name of each topic of a request, or its error."""
    if not by_id:
        return [topic.name for topic in topics]
    found: dict[bytes, str | LedgerError] = {}
    places, pace = await PartitionLookup(call.broker.catalog).expect(ids={topic.topic_id for topic in topics}), Pace()
    for topic in topics:
        if topic.topic_id not in found:
            try:
                found[topic.topic_id] = await places.name(topic.topic_id)
            except LedgerError as error:
                found[topic.topic_id] = error.with_traceback(None)
        if pace.is_over:
            await pace.rest()
    return [found[topic.topic_id] for topic in topics]


def coordinator_code(error: LedgerError) -> int:
    return COORDINATOR_LOADING if isinstance(error, Unavailable) else code_of(error)
