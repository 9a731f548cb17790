"""Calls of the scripts in lua/offload/ for one partition, and the encoding of its manifest.

    plan ──▶ written ──▶ publish          swap: replaces segments by others for the same stretch (compaction)
      └────▶ abandon                      forget: removes segments below the log start

The caller validates arguments (offload/plan.py, offload/manifest.py); a script compares the validated text with the
stored text.  Every call may be repeated, and raises UnknownTopic if the partition does not exist or belongs to another
incarnation of its topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from redis_ledger.errors import UnknownTopic
from redis_ledger.offload.manifest import Manifest, Plan, Segment
from redis_ledger.offload.plan import LedgerRow
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json

READ = Script.load("offload/read")
PLAN = Script.load("offload/plan")
PUBLISH = Script.load("offload/publish")
ABANDON = Script.load("offload/abandon")
SWAP = Script.load("offload/swap")
FORGET = Script.load("offload/forget")
FORGOTTEN_AT_ONCE = 500  # segments

_segment_of = stored_json(Segment, "The offloaded segment")
_plan_of = stored_json(Plan, "The plan of an offload")
_text_of = msgspec.json.Encoder().encode


class OffloadState(NamedTuple):
    """offloaded_offset: end of the published segments, which cover all offsets from the log start to it."""

    topic_id: str
    start: int
    stable: int
    offloaded_offset: int
    active_ledger: int
    manifest: Manifest
    plan: Plan | None


class OffloadScripts:
    """Script calls for one partition of one topic id."""

    def __init__(self, store: Store, keys: PartitionKeys, topic: str, topic_id: str) -> None:
        self._store, self._keys, self._topic, self._topic_id = store, keys, topic, topic_id

    async def state(self) -> OffloadState:
        """Reads everything atomically.  Cost: O(segments)."""
        _, *state, rows = await self._call(READ, 0)
        start, stable, offloaded, ledger = map(int, state)
        manifest, plan = _read(rows)
        return OffloadState(self._topic_id, start, stable, offloaded, ledger, manifest, plan)

    async def manifest(self) -> Manifest:
        """Empty if nothing was offloaded.  Cost: O(segments)."""
        return _read((await self._call(READ, 0))[-1])[0]

    async def version(self) -> int:
        """Version of the manifest; it changes with the segments."""
        return int((await self._call(READ, 1))[-1])

    async def ledgers(self) -> list[LedgerRow]:
        """Returns the payload ledgers in Redis, by number; those of scheduled records are negative."""
        rows = await self._store.command("HGETALL", self._keys.ledgers, key=self._keys.state)
        return sorted(LedgerRow.parse(int(name), row) for name, row in zip(rows[::2], rows[1::2], strict=True) if name)

    async def plan(self, plan: Plan, offloaded: int) -> Plan | None:
        """Returns the stored plan: this one, or an earlier one.  None: the partition has changed, plan again.

        offloaded  the offloaded offset that the plan begins at
        """
        reply = await self._call(PLAN, _text_of(plan), offloaded, plan.stretches[-1].end)
        return _plan_of(reply[1]) if reply[0] == Status.OK else None

    async def publish(self, plan: Plan, segments: Sequence[Segment]) -> int | None:
        """Returns the offloaded offset afterwards.  None: another plan is stored, or none."""
        reply = await self._call(PUBLISH, _text_of(plan), plan.stretches[-1].end, *_pairs(segments))
        return int(reply[1]) if reply[0] == Status.OK else None

    async def abandon(self, plan: Plan) -> bool:
        """Returns False if another plan is stored."""
        return bool((await self._call(ABANDON, _text_of(plan)))[0] == Status.OK)

    async def swap(self, version: int, firsts: Sequence[int], added: Sequence[Segment]) -> int | None:
        """Returns the manifest's version afterwards.  None: `version` is not the current one."""
        reply = await self._call(SWAP, version, len(firsts), *firsts, *_pairs(added))
        return int(reply[1]) if reply[0] == Status.OK else None

    async def forget(self, segments: Sequence[Segment]) -> None:
        for first in range(0, len(segments), FORGOTTEN_AT_ONCE):
            await self._call(FORGET, *_pairs(segments[first : first + FORGOTTEN_AT_ONCE]))

    async def _call(self, script: Script, *args: Any) -> list[Any]:
        keys = (self._keys.state, self._keys.offload)
        reply: list[Any] = await self._store.call(script, keys, (self._topic_id, *args))
        if reply[0] == Status.UNKNOWN_TOPIC:
            raise self._unknown()
        return reply

    def _unknown(self) -> UnknownTopic:
        return UnknownTopic.gone(self._topic)


def _pairs(segments: Sequence[Segment]) -> list[int | bytes]:
    return [each for segment in segments for each in (segment.first, _text_of(segment))]


def _read(rows: Sequence[bytes]) -> tuple[Manifest, Plan | None]:
    """Parses HGETALL of the manifest.  Its field "" keeps the key in existence."""
    version, plan, segments = 0, None, []
    for name, text in zip(rows[::2], rows[1::2], strict=True):
        if name == b"version":
            version = int(text)
        elif name == b"plan":
            plan = _plan_of(text)
        elif name:
            segments.append(_segment_of(text))
    segments.sort(key=lambda segment: segment.first)
    return Manifest(version, segments), plan
