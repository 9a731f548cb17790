"""OffsetFetch 1-10: committed offsets of a group, for the requested partitions or (from 2: a null list) for all.

A partition without a committed offset, or that does not exist, has offset -1 and no error.  A fetch fences
commits of earlier generations in all requested partitions.
2   error of the whole group, and of each partition as before; a null list of topics    5   leader epoch
6   flexible    7   require_stable (KIP-447)
8   several groups    9   member epochs of the consumer protocol (KIP-848)    10   topics by id
require_stable: a partition with a commit in an open transaction gets UNSTABLE_OFFSET_COMMIT; decided transactions are
completed first, so that clients do not wait for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.groups.offsets import StoredOffset
from redis_ledger.errors import LedgerError, TopicForbidden, Unavailable, UnknownTopic, UnstableOffsets
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.group_offsets import coordinator_code, topic_names
from redis_ledger.kafka.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from redis_ledger.kafka.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from redis_ledger.kafka.protocol.primitives import NO_UUID
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of

VERSIONS = (1, 10)
GROUPS_FROM, IDS_FROM = 8, 10


async def handle(request: OffsetFetchRequest, call: RequestContext) -> OffsetFetchResponse:
    if call.version >= GROUPS_FROM:
        return OffsetFetchResponse(groups=await groups(request, call))
    topics: Any = request.topics  # with the fields of group topics
    only = OffsetFetchRequestGroup(request.group_id, topics=topics)
    answer = await one_group(only, request.require_stable, call)
    topics = [OffsetFetchResponseTopic(topic.name, [older(p) for p in topic.partitions]) for topic in answer.topics]
    if answer.error_code:
        # aiokafka ignores the error of the group, and reads a partition without an offset from its beginning.
        for requested in request.topics or ():
            slots = [
                OffsetFetchResponsePartition(n, -1, -1, "", answer.error_code) for n in requested.partition_indexes
            ]
            topics.append(OffsetFetchResponseTopic(requested.name, slots))
    return OffsetFetchResponse(topics=topics, error_code=answer.error_code)


async def groups(request: OffsetFetchRequest, call: RequestContext) -> list[OffsetFetchResponseGroup]:
    """Duplicate groups are rejected: the response must not be larger than the stored data."""
    first = {group.group_id: group for group in reversed(request.groups)}

    async def answered(group: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
        if first[group.group_id] is not group:
            return OffsetFetchResponseGroup(group.group_id, [], INVALID_REQUEST)
        return await one_group(group, request.require_stable, call)

    return await gather_bounded(answered, request.groups)


async def one_group(
    group: OffsetFetchRequestGroup, require_stable: bool, call: RequestContext
) -> OffsetFetchResponseGroup:
    answer = OffsetFetchResponseGroup(group.group_id, [])
    try:
        call.check(Op.DESCRIBE, Resource.GROUP, group.group_id)
        fence = await call.broker.groups.fence_for_fetch(group.group_id, group.member_id, group.member_epoch)
        if group.topics is None:
            found = await call.broker.offsets.fetch(group.group_id, None, raise_fence=fence, settle=require_stable)
            answer.topics = await all_topics(found, require_stable, call)
        else:
            answer.topics = await these_topics(group.group_id, group.topics, fence, require_stable, call)
    except LedgerError as error:
        answer.error_code = coordinator_code(error)
    return answer


async def these_topics(
    group: str, topics: Sequence[Any], fence: int, require_stable: bool, call: RequestContext
) -> list[OffsetFetchResponseTopics]:
    """Duplicate partitions are rejected."""
    by_id = call.version >= IDS_FROM
    slots: dict[tuple[str, int], OffsetFetchResponsePartitions] = {}  # of each requested partition
    answer = []
    for topic, name in zip(topics, await topic_names(topics, call, by_id), strict=True):
        answer.append(OffsetFetchResponseTopics(topic.name, topic.topic_id if by_id else NO_UUID, []))
        for number in topic.partition_indexes:
            slot = OffsetFetchResponsePartitions(number, -1, -1, "", INVALID_REQUEST)
            answer[-1].partitions.append(slot)
            if isinstance(name, Unavailable):
                raise name
            if isinstance(name, LedgerError):
                slot.error_code = code_of(name)
            elif not call.allows(Op.DESCRIBE, Resource.TOPIC, name):
                slot.error_code = TopicForbidden.kafka_code
            else:
                slots.setdefault((name, number), slot)
    found = await call.broker.offsets.fetch(group, list(slots), raise_fence=fence, settle=require_stable)
    for slot, stored in zip(slots.values(), found, strict=True):
        fill(slot, stored, require_stable)
    return answer


async def all_topics(
    found: Sequence[StoredOffset], require_stable: bool, call: RequestContext
) -> list[OffsetFetchResponseTopics]:
    answer = []
    for name, stored in groupby(found, lambda each: each.topic):
        if not call.allows(Op.DESCRIBE, Resource.TOPIC, name):
            continue
        try:
            entry = await call.broker.catalog.get(name)
        except UnknownTopic:  # just deleted, with its offsets
            continue
        slots = [fill(OffsetFetchResponsePartitions(each.partition), each, require_stable) for each in stored]
        answer.append(OffsetFetchResponseTopics(name, bytes.fromhex(entry.id), slots))
    return answer


def fill(
    slot: OffsetFetchResponsePartitions, stored: StoredOffset, require_stable: bool
) -> OffsetFetchResponsePartitions:
    """Raises Unavailable if the offset cannot be read now.  At an error of a partition, Java's poll() throws; at an
    error
        of the group, the consumer repeats the request."""
    slot.committed_offset, slot.committed_leader_epoch, slot.metadata = -1, -1, ""
    if isinstance(stored.error, Unavailable):
        raise stored.error
    if stored.error is not None:
        slot.error_code = code_of(stored.error)
    elif require_stable and stored.pending:
        slot.error_code = UnstableOffsets.kafka_code
    else:
        slot.committed_offset, slot.committed_leader_epoch = stored.offset, stored.leader_epoch
        slot.metadata, slot.error_code = stored.metadata, NONE
    return slot


def older(p: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        p.partition_index, p.committed_offset, p.committed_leader_epoch, p.metadata, p.error_code
    )
