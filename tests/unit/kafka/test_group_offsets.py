"""What OffsetCommit and TxnOffsetCommit make of their topics before anything is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from redis_ledger.broker.groups.offsets import OffsetEntry
from redis_ledger.errors import IllegalGeneration, LedgerError
from redis_ledger.kafka.group_offsets import Commits, read_commits
from redis_ledger.kafka.protocol.messages.offset_commit_response import (
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from redis_ledger.kafka.request_context import code_of
from tests.support.kafka_offsets import committing

CALL: Any = SimpleNamespace(
    broker=SimpleNamespace(config=SimpleNamespace(offset_metadata_bytes_max=10)), allows=lambda *_: True
)


async def commits_of(*entries: tuple[Any, ...]) -> Commits:
    asked = committing(*entries).topics
    return await read_commits(asked, CALL, False, OffsetCommitResponseTopic, OffsetCommitResponsePartition)


def codes(commits: Commits) -> list[int]:
    return [part.error_code for topic in commits.topics for part in topic.partitions]


async def test_of_a_partition_named_several_times_only_the_last_entry_is_written():
    commits = await commits_of(("t", 0, 5), ("u", 0, 1), ("t", 0, 9), ("t", 1, 2), ("t", 0, 7, 3, "m"))
    assert commits.entries == [OffsetEntry("t", 0, 7, 3, "m"), OffsetEntry("u", 0, 1), OffsetEntry("t", 1, 2)]


async def test_each_place_in_the_answer_has_the_outcome_of_its_partition():
    # Given a partition named three times beside two others
    commits = await commits_of(("t", 0, 5), ("t", 1, 2), ("t", 0, 9), ("u", 0, 1), ("t", 0, 7))
    # When its one write is refused
    outcomes: list[LedgerError | None] = [IllegalGeneration("late"), None, None]
    await commits.settle(outcomes, code_of)
    # Then all three places have that code
    refused = IllegalGeneration.kafka_code
    assert codes(commits) == [refused, 0, refused, 0, refused]
    # And a request that is refused as a whole fills every place
    await commits.refuse(IllegalGeneration("late"), code_of)
    assert codes(commits) == [refused] * 5


async def test_an_entry_that_may_not_be_committed_does_not_count_as_the_last():
    commits = await commits_of(("t", 0, 5), ("t", 0, 9, -1, "x" * 11))
    await commits.settle([None], code_of)
    assert commits.entries == [OffsetEntry("t", 0, 5)]
    assert codes(commits) == [0, 12]


async def test_a_partition_named_very_often_is_written_once():
    commits = await commits_of(*(("t", 0, offset) for offset in range(20_000)))
    await commits.settle([None], code_of)
    assert (commits.entries, codes(commits)) == ([OffsetEntry("t", 0, 19_999)], [0] * 20_000)
