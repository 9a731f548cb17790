"""What a broker has answered, on its own disk: a broker that restarts compares Redis with it (rollbacks.py).

    state_dir/answered-0.json    a file for each broker on the folder; a lock on answered-0.lock marks it taken
              answered-1.json    written anew every second if something has changed, and at the end, by rename

A broker that starts reads all files of its cluster, those of other brokers included, and takes the first free number.
So the folder holds as many files as brokers ever ran on it at once. A file has at most PARTITIONS_MAX partitions, about
100 bytes each.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import IO

import msgspec

from redis_ledger.broker.cluster.rollbacks import Remembered, Rollbacks
from redis_ledger.broker.cluster.witness import Count
from redis_ledger.ledger.answered_offsets import AnsweredOffsets
from redis_ledger.telemetry.logs import RateLimitedLog, get

SAVE_S = 1.0
BUSY_SHARE = 0.05  # of the time that saving may take
PARTITIONS_MAX = 100_000
BROKERS_MAX = 1_000
_log = get()

PartitionRow = tuple[str, int, str, int, int]  # topic, number, topic id, leader epoch, end offset


class Answered(msgspec.Struct):
    """The content of a file. prefix: of the keys, as a folder may serve several clusters."""

    cluster_id: str
    prefix: str
    catalog_version: int = -1
    coordinators: dict[int, tuple[int, int]] = {}
    counters: dict[int, tuple[str, int]] = {}  # life and count
    partitions: list[PartitionRow] = []


class StateDir:
    """prefix: of the store's keys."""

    def __init__(self, folder: str, prefix: str, rollbacks: Rollbacks, answered: AnsweredOffsets) -> None:
        self._folder, self._prefix, self._rollbacks, self._answered = Path(folder), prefix, rollbacks, answered
        self._lock: IO[str] | None = None
        self._number = -1
        self._saved = b""
        self._writing = threading.Lock()
        self._cluster_id = ""
        self._task: asyncio.Task[None] | None = None
        self._limited_log = RateLimitedLog(every_s=30.0)

    async def open(self) -> None:
        """Raises OSError if the folder cannot be used."""
        await asyncio.to_thread(self._claim)

    async def load(self, cluster_id: str) -> bool:
        """Adds what the files hold of this cluster to what is remembered; whether there is any."""
        self._cluster_id = cluster_id
        files = [each for each in await asyncio.to_thread(lambda: list(self._files())) if self._is_ours(each)]
        for each in files:
            self._learn(each)
        return bool(files)

    def start(self, cluster_id: str) -> None:
        """Saves from now on."""
        self._cluster_id = cluster_id
        if self._lock is None:
            return
        self._task = asyncio.get_running_loop().create_task(self._save_regularly())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._save_quietly()
        if self._lock is not None:
            self._lock.close()

    # -- files -------------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for number in range(BROKERS_MAX):
            lock = open(self._folder / f"answered-{number}.lock", "a")  # noqa: SIM115 - it is held as long as the broker runs
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.close()
                continue
            self._lock, self._number = lock, number
            return
        raise OSError(f"{self._folder} is used by {BROKERS_MAX} brokers")

    def _files(self) -> Iterator[Answered]:
        for path in sorted(self._folder.glob("answered-*.json")):
            try:
                yield msgspec.json.decode(path.read_bytes(), type=Answered)
            except (OSError, msgspec.MsgspecError) as error:
                _log.warning("a file of the state directory cannot be read", path=str(path), error=str(error))

    def _is_ours(self, file: Answered) -> bool:
        return (file.cluster_id, file.prefix) == (self._cluster_id, self._prefix)

    def _learn(self, file: Answered) -> None:
        earlier = self._rollbacks.earlier
        coordinators, counters = dict(earlier.coordinators), dict(earlier.counters)
        for number, (following, entry) in file.coordinators.items():
            known = coordinators.get(number, (0, 0))
            coordinators[number] = (max(following, known[0]), max(entry, known[1]))
        for number, (life, count) in file.counters.items():
            counters[number] = max(Count(life, count), counters.get(number, Count("", 0)), key=lambda each: each.value)
        version = max(file.catalog_version, earlier.catalog_version)
        self._rollbacks.earlier = Remembered(version, coordinators, counters)
        for topic, number, topic_id, epoch, end in file.partitions:
            self._answered.of(topic, number, topic_id).learn(epoch, end)

    # -- saving ------------------------------------------------------------------------------------------------------

    async def _save_regularly(self) -> None:
        while True:
            began_s = monotonic()
            await self._save_quietly()
            await asyncio.sleep(max(SAVE_S, (monotonic() - began_s) / BUSY_SHARE))

    async def _save_quietly(self) -> None:
        try:
            content = self._content()
            if content != self._saved:
                await asyncio.to_thread(self._write, content)
                self._saved = content
        except OSError as error:
            self._limited_log.failed("the state directory cannot be written", error)

    def _content(self) -> bytes:
        known = self._rollbacks.remembered()
        ends = self._answered.all()[-PARTITIONS_MAX:]
        return msgspec.json.encode(
            Answered(
                self._cluster_id, self._prefix, known.catalog_version, known.coordinators,
                {number: (count.life, count.value) for number, count in known.counters.items()},
                [(each.topic, each.number, each.topic_id, each.epoch, each.end) for each in ends],
            )
        )  # fmt: skip

    def _write(self, content: bytes) -> None:
        with self._writing:  # one that was cancelled goes on in its thread
            self._replace(content)

    def _replace(self, content: bytes) -> None:
        path = self._folder / f"answered-{self._number}.json"
        fresh = path.with_suffix(".new")
        with open(fresh, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
