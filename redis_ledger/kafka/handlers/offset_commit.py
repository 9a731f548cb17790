"""OffsetCommit 2-10: commits offsets of a group.

Any offset is accepted, also earlier ones and beyond the end of the log, with leader epoch and metadata; the last commit
counts.  Each partition has its own result; an invalid group, member or generation rejects the whole request.
2-4   a retention time, which is ignored: offsets are stored while the group exists, then for offsets_retention_ms
5     no retention time    6   leader epoch    7   group.instance.id    8   flexible
9     members of the consumer protocol commit with their epoch (KIP-848); GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH
10    topics by id
"""

from __future__ import annotations

from redis_ledger.errors import GroupNotFound, IllegalGeneration, LedgerError, StaleMember
from redis_ledger.kafka.group_offsets import coordinator_code, read_commits, refused_commits
from redis_ledger.kafka.protocol.messages.offset_commit_request import OffsetCommitRequest
from redis_ledger.kafka.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from redis_ledger.kafka.request_context import UNSUPPORTED_VERSION, RequestContext

VERSIONS = (2, 10)
EPOCHS_FROM, IDS_FROM = 9, 10


async def handle(request: OffsetCommitRequest, call: RequestContext) -> OffsetCommitResponse:
    by_id, group = call.version >= IDS_FROM, request.group_id
    commits = await read_commits(
        request.topics, call, by_id, OffsetCommitResponseTopic, OffsetCommitResponsePartition
    )  # fmt: skip

    def code(error: LedgerError) -> int:
        return code_for(error, call.version)

    try:
        fence = await call.broker.groups.check_commit(
            group, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch
        )
    except LedgerError as error:
        await commits.refuse(error, code)
    else:
        await commits.settle(await call.broker.offsets.commit(group, commits.entries, fence=fence), code)
    return OffsetCommitResponse(topics=commits.topics)


def refused(request: OffsetCommitRequest, call: RequestContext, error: LedgerError) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=refused_commits(request.topics, error, OffsetCommitResponseTopic, OffsetCommitResponsePartition)
    )


def code_for(error: LedgerError, version: int) -> int:
    """The error code of a version."""
    if version < EPOCHS_FROM and isinstance(error, GroupNotFound):
        return IllegalGeneration.kafka_code
    if version < EPOCHS_FROM and isinstance(error, StaleMember):
        return UNSUPPORTED_VERSION
    return coordinator_code(error)
