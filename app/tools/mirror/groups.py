"""Copies offsets of consumer groups from the source to the target.

On the target a group continues at the first record that it had not consumed on the source.  Groups with members on the
target are skipped, because they have already moved, and offsets are never moved back.  An error of one group, such as a
missing permission, does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from redis_ledger.app.tools.mirror.offsets import OffsetTranslation
from redis_ledger.app.tools.mirror.run import admin

INTERNAL = re.compile(r"mirror\.")
RESTING = ("Empty", "Dead", "")


async def carry(
    source: Mapping[str, Any],
    target: Mapping[str, Any],
    wanted: re.Pattern[str],
    places: Mapping[TopicPartition, OffsetTranslation],
) -> dict[str, int | KafkaError]:
    """Returns for each group the number of advanced partitions, or the error."""
    moved: dict[str, int | KafkaError] = {}
    async with admin(source) as there, admin(target) as here:
        names = sorted({name for name, _ in await there.list_consumer_groups()})
        for name in names:
            if not wanted.fullmatch(name) or INTERNAL.match(name):
                continue
            try:
                at_source = await _offsets(there, name)
                if await _state(here, name) not in RESTING:
                    continue
                ahead = translated(at_source, await _offsets(here, name), places)
                if ahead:
                    await _commit(target, name, ahead)
                    moved[name] = len(ahead)
            except KafkaError as error:
                moved[name] = error
    return moved


async def _offsets(client: Any, group: str) -> dict[TopicPartition, int]:
    return {at: found.offset for at, found in (await client.list_consumer_group_offsets(group)).items()}


def translated(
    at_source: Mapping[TopicPartition, int],
    known: Mapping[TopicPartition, int],
    places: Mapping[TopicPartition, OffsetTranslation],
) -> dict[TopicPartition, int]:
    """The offsets to commit on the target: those ahead of its committed offsets."""
    found = {}
    for partition, offset in at_source.items():
        if offset < 0 or partition not in places:
            continue
        place = places[partition].translate(offset)
        if place > known.get(partition, -1):
            found[partition] = place
    return found


async def _state(client: Any, group: str) -> str:
    [answer] = await client.describe_consumer_groups([group])
    return str(answer.groups[0][2])


async def _commit(target: Mapping[str, Any], group: str, offsets: Mapping[TopicPartition, int]) -> None:
    consumer = AIOKafkaConsumer(**target, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign(list(offsets))
        await consumer.commit(dict(offsets))
    finally:
        await consumer.stop()
