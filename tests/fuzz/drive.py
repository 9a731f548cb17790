"""Senders: each writes the cases of its numbers on a connection of its own, and sees what comes back.

    answered    a frame came with its correlation id, and can be read     closed    the broker closed the connection
    silent      neither, within the patience; the connection is parked, and looked at again

What a sound request may not get: no answer at all, one that cannot be read, or one that belongs to no request.
Sender n calls from 127.0.1.n where the system has that address, so that a line in the broker's log tells which it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redis_ledger.kafka.protocol.frame import API_VERSIONS_KEY
from redis_ledger.kafka.protocol.primitives import BadFrame
from tests.fuzz import corpus
from tests.fuzz.findings import Findings
from tests.fuzz.mutate import PRODUCE, Case, Mutator, Sent
from tests.fuzz.words import Words
from tests.support.kafka_codec import read_response

PATIENCE_S, PARKED_S, ANSWER_S_MAX = 0.25, 4.0, 25.0
LATE_S = 0.05
PARKED_MAX = 24
UNREAD_MAX = 256
SASL = (17, 36)  # SaslHandshake, SaslAuthenticate: a login that fails ends the connection
SHORT_BYTES = 16_384
ANSWER_BYTES_MAX = 128 << 20
Address = tuple[str, int]


@dataclass
class Counts:
    frames: int = 0
    bytes: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    answered: Counter[tuple[int, int]] = field(default_factory=Counter)  # API key and version
    closed_sound: Counter[str] = field(default_factory=Counter)  # by API: sound, and closed all the same


class Closed(NamedTuple):
    by: str


class Link:
    """One connection; whatever arrives is cut into frames at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._arrived: asyncio.Queue[bytes | Closed] = asyncio.Queue(UNREAD_MAX)
        self.peer = str(writer.get_extra_info("sockname")[0])
        self.closed: Closed | None = None
        self.may_close = False  # something was sent on it that a broker may refuse by closing, and later
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, address: Address, number: int) -> Link:
        with contextlib.suppress(OSError):
            return cls(*await asyncio.open_connection(*address, local_addr=(f"127.0.1.{number + 1}", 0)))
        return cls(*await asyncio.open_connection(*address))

    async def _read(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                if size > ANSWER_BYTES_MAX:
                    await self._arrived.put(Closed(f"an answer of {size} bytes"))
                    return
                await self._arrived.put(await self._reader.readexactly(size))
        except (OSError, EOFError):
            await self._arrived.put(Closed("the broker"))

    async def send(self, pieces: list[bytes]) -> None:
        with contextlib.suppress(OSError):
            for piece in pieces:
                self._writer.write(piece)
                await self._writer.drain()
                if len(pieces) > 1:
                    await asyncio.sleep(0)

    async def hear(self, within_s: float) -> bytes | Closed | None:
        """The next frame; None if none came in time."""
        if self.closed is not None:
            return self.closed
        try:
            async with asyncio.timeout(within_s):
                heard = await self._arrived.get()
        except TimeoutError:
            # The fuzzer itself may have been late: what has arrived by now has come in time.
            await asyncio.sleep(LATE_S)
            if self._arrived.empty():
                return None
            heard = self._arrived.get_nowait()
        self.closed = heard if isinstance(heard, Closed) else None
        return heard

    def abort(self) -> None:
        self._task.cancel()
        self._writer.transport.abort()


class Driver:
    """What all senders share.  frame_s: after this the broker gives up half a frame; None: it is not tried here.
    may_be_closed: the broker may close any connection, since no client logs in."""

    def __init__(
        self,
        address: Address,
        mutator: Mutator,
        words: Words,
        findings: Findings,
        frame_s: float | None,
        *,
        may_be_closed: bool = False,
    ) -> None:
        self.address, self.mutator, self.words, self.findings = address, mutator, words, findings
        self.frame_s, self.may_be_closed = frame_s, may_be_closed
        self.tally = Counts()
        self._parked: deque[asyncio.Task[None]] = deque()

    async def run(self, number: int, of: int, until: Callable[[], bool], cases_max: int | None = None) -> None:
        """Sender `number` of `of`: every `of`-th case, until stopped or until the total is reached."""
        case, link = number, None
        while not until() and (cases_max is None or case < cases_max):
            link = link or await self._connect(number, until)
            if link is None:
                break
            if not await self.one(self.mutator.case(case), link):
                link = None
            case += of
        if link is not None:
            link.abort()

    async def _connect(self, number: int, until: Callable[[], bool]) -> Link | None:
        began = time.monotonic()
        while not until():
            with contextlib.suppress(OSError):
                return await Link.open(self.address, number)
            if time.monotonic() - began > ANSWER_S_MAX:
                self.findings.add("no connection", f"no connection was accepted for {ANSWER_S_MAX} s")
                break
            await asyncio.sleep(0.1)  # the backlog is full for a moment when all senders come back at once
        return None

    async def finish(self, within_s: float) -> None:
        """Waits until nothing is parked any more, and gives up what is left then."""
        if self._parked:
            _, left = await asyncio.wait(self._parked, timeout=within_s)
            for each in left:
                each.cancel()
            self.tally.outcomes["given up at the end"] += len(left)
            self._parked.clear()

    # -- one case ----------------------------------------------------------------------------------------------------

    async def one(self, case: Case, link: Link) -> bool:
        """Sends it; whether the connection can be used on."""
        tally = self.tally
        tally.ways[case.way] += 1
        tally.frames += len(case.frames)
        tally.bytes += len(case.data)
        self.findings.sent(link.peer, case.number, case.data)
        link.may_close |= any(each.key in SASL or (each.key == PRODUCE and each.may_be_silent) for each in case.frames)
        await link.send(case.pieces)
        if case.way in ("half", "false length", "noise"):
            return await self._broken(case, link)
        waiting = deque(case.frames)
        await self._answers(case, link, waiting, PATIENCE_S)
        if waiting and waiting[-1].key == PRODUCE and waiting[-1].may_be_silent:
            waiting.pop()  # acks 0; what comes after it on this connection is answered as ever
            tally.outcomes["silent, as asked"] += 1
            if not waiting and link.closed is None:
                return True
        if link.closed is not None:
            self._count_closed(link, link.closed, waiting, case)
            link.abort()
            return False
        if waiting:
            await self._park(self._wait(case, link, waiting))
            return False
        return True

    async def _answers(self, case: Case, link: Link, waiting: deque[Sent], within_s: float) -> None:
        """Takes answers until all are there, the connection is closed, or none comes in time."""
        while waiting:
            heard = await link.hear(within_s)
            if heard is None or isinstance(heard, Closed):
                return
            self._match(heard, waiting, case)

    def _match(self, answer: bytes, waiting: deque[Sent], case: Case) -> None:
        number = int.from_bytes(answer[:4], "big")
        while (
            waiting and waiting[0].correlation_id != number and waiting[0].may_be_silent and waiting[0].key == PRODUCE
        ):
            waiting.popleft()
            self.tally.outcomes["silent, as asked"] += 1
        if not waiting or waiting[0].correlation_id != number:
            wanted = waiting[0].correlation_id if waiting else None
            self._add("answer to nothing", f"correlation id {number}, not {wanted}", case, "order")
            return
        asked = waiting.popleft()
        self.tally.outcomes["answered"] += 1
        self.tally.answered[asked.key, asked.version] += 1
        known = (asked.key, asked.version) in corpus.served()
        try:
            # What ApiVersions is asked in a version that we do not know is answered in version 0.
            _, message = read_response(asked.key, asked.version if known else 0, memoryview(answer))
        except (BadFrame, KeyError) as error:
            name = f"{asked.key} v{asked.version}"
            self._add("unreadable answer", f"{name}: {error!r}: {answer[:200].hex()}", case, name)
            return
        if not known and asked.key != API_VERSIONS_KEY:
            self._add("answered what is not served", f"{asked.key} v{asked.version}", case)
        if asked.message is not None:
            self.words.hear(asked.message, message)

    def _count_closed(self, link: Link, closed: Closed, waiting: deque[Sent], case: Case) -> None:
        if closed.by != "the broker":
            self._add("unreadable answer", closed.by, case)
        if not waiting:
            return
        first = waiting.popleft()
        self.tally.outcomes["closed"] += 1
        self.tally.outcomes["behind a closed one"] += len(waiting)
        if first.is_sound and case.way == "whole":
            name = corpus.served()[first.key, first.version]
            self.tally.closed_sound[name] += 1
            if not link.may_close and not self.may_be_closed:
                self._add("closed although sound", f"{name} v{first.version}", case, name)

    # -- connections that say nothing --------------------------------------------------------------------------------

    async def _park(self, work: Coroutine[Any, Any, None]) -> None:
        while len(self._parked) >= PARKED_MAX:
            await self._parked.popleft()
        while self._parked and self._parked[0].done():
            await self._parked.popleft()
        self._parked.append(asyncio.create_task(work))

    async def _wait(self, case: Case, link: Link, waiting: deque[Sent]) -> None:
        # A long list of things to do may take its time.
        must_answer = all(one.is_sound and not one.may_be_silent and len(one.frame) < SHORT_BYTES for one in waiting)
        began = time.monotonic()
        await self._answers(case, link, waiting, ANSWER_S_MAX if must_answer else PARKED_S)
        if link.closed is not None:
            self._count_closed(link, link.closed, waiting, case)
        elif waiting:
            self.tally.outcomes["silent"] += len(waiting)
            if must_answer:
                name = corpus.served()[waiting[0].key, waiting[0].version]
                waited = time.monotonic() - began
                self._add("no answer", f"{name} v{waiting[0].version}: none in {waited:.0f} s", case, name)
        link.abort()

    async def _broken(self, case: Case, link: Link) -> bool:
        """A frame whose length is not true, half of one, or none at all."""
        heard = await link.hear(PATIENCE_S / 5)
        if isinstance(heard, Closed):
            self.tally.outcomes["closed"] += 1
            link.abort()
            return False
        if heard is not None:
            self.tally.outcomes["answered"] += 1  # the length made a frame of its beginning that means something
            link.abort()
            return False
        await self._park(self._give_up(case, link))
        return False

    async def _give_up(self, case: Case, link: Link) -> None:
        """The broker has to."""
        heard: bytes | Closed | None = b""
        until = time.monotonic() + (PARKED_S if self.frame_s is None else self.frame_s + 8)
        while heard is not None and not isinstance(heard, Closed) and time.monotonic() < until:
            heard = await link.hear(until - time.monotonic())
        self.tally.outcomes["closed" if isinstance(heard, Closed) else "silent"] += 1
        if not isinstance(heard, Closed) and self.frame_s is not None and case.way == "half" and len(case.data) > 0:
            self._add(
                "half a frame is waited for", f"longer than {self.frame_s + 8} s: {case.data[:40].hex()}", case, "half"
            )
        link.abort()

    def _add(self, kind: str, detail: str, case: Case, signature: str = "") -> None:
        self.findings.add(kind, detail, signature, case.number)
