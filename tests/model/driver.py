"""Draws steps by seed, runs them against brokers in this process, and writes the history that the checker reads.

    steps     1 produce     2 commit ┃held      3 produce   4 fetch      (released)
    history   1 invoke, 1 return, 2 invoke, 3 invoke, 3 return, 4 invoke, 4 return, 2 return

A step runs to its end before the next one begins, unless its broker is held, or becomes held by it: then it stays open
until the broker is released.  So a program of steps runs in the same order each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.model.answers import UNSURE, Answer
from tests.model.brokers import RUNNING, Door, Gone, doors
from tests.model.checker import Call, Event, Failure, TooManyConfigurations, check
from tests.model.learning import learn
from tests.model.operations import ROWS, Producer, Session
from tests.model.pairs import Pairs
from tests.model.steps import Hold, Known, Step
from tests.model.stories import begun, lost, next_step

BROKERS = 2
STEPS = 45
ANSWER_S_MAX = 20.0  # no request of a broker that goes on takes longer
TRIES_NEAR = 30
STORY = 0.5  # of the steps, while an answer is owed, belong to the story of one
LOST = 0.35  # of the answers to requests that are repeated
BLOCKED_S = 0.3  # a step that takes longer while a broker is held waits for that broker
REPEATS_MAX = 8  # of a request whose key is in use, each after PAUSE_S
PAUSE_S = 0.03


@dataclass
class Outcome:
    """program: the steps that were run, enough to run them again.  answers: of each step, for people."""

    seed: int
    program: list[Step] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    failure: Failure | None = None
    unchecked: bool = False
    unsure: int = 0

    def until_failure(self) -> list[Step]:
        """The steps that were run before the failure, and its own."""
        assert self.failure is not None
        numbers = [step.number for step in self.program]
        return self.program[: numbers.index(self.failure.call.number) + 1]


class Running:
    """A step that was started.  held_until: the step that releases its broker."""

    def __init__(self, step: Step, call: Call, task: asyncio.Task[None], gone: asyncio.Event) -> None:
        self.step, self.call, self.task, self.gone = step, call, task, gone


class Run:
    """One history: its brokers, what its clients know, and what has happened."""

    def __init__(self, brokers: Sequence[Door], outcome: Outcome, known: Known, pairs: Pairs) -> None:
        self._brokers, self._outcome, self._known, self._pairs = brokers, outcome, known, pairs
        self._ids: dict[str, str] = {}
        self._received: dict[int, tuple[int, ...]] = {}
        self._producers: dict[str, Producer] = {}
        self._sent: dict[int, str] = {}  # step → its Kafka transaction
        self._due_ms: dict[int, int] = {}  # step → the time of delivery that it sends
        self._open: list[Running] = []
        self._release: dict[int, int] = {}  # broker → started steps at which it goes on
        self._started = 0

    async def do(self, step: Step) -> bool:
        """Returns False if the step makes no sense here, because another one was left out."""
        row, given = ROWS[step.row], self._resolved(step)
        if given is None:
            return False
        door = self._brokers[step.broker]
        self._outcome.program.append(step)
        call = Call(step.number, row.operation, given, step.broker)
        self._pairs.count(step, row, [(running.step, ROWS[running.step.row]) for running in self._open])
        operation, gone = f"op-{step.number}", asyncio.Event()
        if step.hold is not None and not door.store.is_held:
            door.store.arm(operation, step.hold.call, step.hold.when)
        producer = given.get("txn", "").partition("#")
        if producer[1]:
            self._known.busy.add(producer[0])
        if row.operation == "commit_offset":
            self._known.groups.add((given["topic"], given["partition"], given["group"]))
        session = Session(door, operation, gone, self._ids, self._received, self._producers)
        self._note("invoke", call)
        running = Running(step, call, asyncio.create_task(self._perform(session, step, call)), gone)
        self._open.append(running)
        self._started += 1
        await self._until_settled(running, door)
        await self._release_due()
        return True

    @property
    def held(self) -> dict[int, set[str]]:
        """Brokers that are held, and what the operation there touches."""
        return {
            running.step.broker: ROWS[running.step.row].touches(dict(running.step.arguments))
            for running in self._open
            if running.step.broker in self._release
        }

    async def finish(self) -> None:
        for number in list(self._release):
            await self._go_on(number)
        until = time.monotonic() + ANSWER_S_MAX
        while self._open and time.monotonic() < until:
            await asyncio.sleep(0.001)
            await self._collect()
        assert not self._open, f"seed {self._outcome.seed}: no answer to {[str(r.step) for r in self._open]}"

    def _resolved(self, step: Step) -> dict[str, Any] | None:
        """The arguments as they are sent; None: what they name does not exist in this run."""
        given = dict(step.arguments)
        if "after_ms" in given:
            due_ms = int(time.time() * 1000) + given.pop("after_ms")
            given["due_ms"] = self._due_ms.setdefault(step.repeats or step.number, due_ms)
        names = [given[name] for name in ROWS[step.row].uses if given.get(name)]
        if any(name not in self._ids and "#" not in name for name in names):
            return None
        if ROWS[step.row].operation == "delete_group":
            given["places"] = self._known.groups  # also of offsets that are sent while it is open
        if "received" in given:
            offsets = self._received.get(given["received"], ())[: given["take"]]
            if not offsets:
                return None
            given["offsets"] = offsets
        name, is_kafka, _ = given.get("txn", "").partition("#")
        if is_kafka:
            if name not in self._producers:
                return None
            given["txn"] = self._sent.setdefault(step.repeats or step.number, f"{name}#{self._producers[name].number}")
        return given

    async def _perform(self, session: Session, step: Step, call: Call) -> None:
        row, producer = ROWS[step.row], call.arguments.get("txn", "").partition("#")[0]
        try:
            answer = Answer()
            for _ in range(REPEATS_MAX):
                answer = await row.perform(session, dict(call.arguments))
                if answer.code not in ("request_in_progress", "unavailable") or self._release:
                    break
                await asyncio.sleep(PAUSE_S)
        except Gone:
            return
        finally:
            self._known.busy.discard(producer)
        if session.gone.is_set():
            return
        call.answer = answer
        if row.operation in ("commit", "abort") and producer in self._producers and answer.code not in UNSURE:
            number = int(call.arguments["txn"].partition("#")[2])
            self._producers[producer].number = max(self._producers[producer].number, number + 1)
        self._outcome.unsure += answer.code in UNSURE
        if answer.code in UNSURE:
            self._owe(step)
        self._note("return", call)
        learn(self._known, step, call, self._ids, self._received)

    async def _until_settled(self, running: Running, door: Door) -> None:
        """Waits until the step has ended, or waits itself because its broker is held."""
        held = asyncio.create_task(door.store.held.wait())
        if running.step.hold is not None and not door.store.is_held:
            await asyncio.wait({running.task, held}, timeout=ANSWER_S_MAX, return_when=asyncio.FIRST_COMPLETED)
        elif door.store.is_held:
            await asyncio.wait({running.task}, timeout=0.005)
        else:  # it may need what a broker that is held has begun
            await asyncio.wait({running.task}, timeout=BLOCKED_S if self._release else ANSWER_S_MAX)
        held.cancel()
        door.store.disarm()
        await self._collect()
        step = running.step
        if not door.store.is_held or step.hold is None:
            return
        if step.fate == "abandoned" and not running.task.done():
            await self._abandon(running)
        elif step.fate == "crashed":
            await self._crash(step.broker)
            return
        self._release.setdefault(step.broker, self._started + step.hold.steps)

    async def _abandon(self, running: Running) -> None:
        running.gone.set()
        await asyncio.wait({running.task}, timeout=ANSWER_S_MAX)
        await asyncio.sleep(0.002)  # its connection is closed now
        self._owe(running.step)

    def _owe(self, step: Step) -> None:
        is_owed = any(story.step is step for story in self._known.owed)
        if ROWS[step.row].is_repeated and step.repeats is None and not is_owed:
            self._known.owed.append(begun(step, self._known.rng))

    async def _crash(self, number: int) -> None:
        """All requests at this broker lose their answers."""
        door = self._brokers[number]
        lost = [running for running in self._open if running.step.broker == number]
        for running in lost:
            running.gone.set()
        if lost:
            await asyncio.wait({running.task for running in lost}, timeout=ANSWER_S_MAX)
        await door.die()
        for running in lost:
            if not running.call.answer.code:
                self._note("gone", running.call)
                self._owe(running.step)
            self._open.remove(running)
            RUNNING.pop(f"op-{running.step.number}", None)
        self._release.pop(number, None)

    async def _release_due(self) -> None:
        for number, at in list(self._release.items()):
            if self._started >= at:
                await self._go_on(number)

    async def _go_on(self, number: int) -> None:
        self._brokers[number].store.release()
        del self._release[number]
        here = [running for running in self._open if running.step.broker == number]
        if here:
            await asyncio.wait({running.task for running in here}, timeout=ANSWER_S_MAX)
        until = time.monotonic() + ANSWER_S_MAX
        while any(RUNNING[f"op-{r.step.number}"] for r in here) and time.monotonic() < until:
            await asyncio.sleep(0.001)
        await self._collect()

    async def _collect(self) -> None:
        """Takes out the steps that have ended; those without an answer end when their broker is done with them."""
        for running in list(self._open):
            if not running.task.done():
                continue
            running.task.result()
            if not running.call.answer.code:
                if RUNNING[f"op-{running.step.number}"]:
                    continue
                self._note("gone", running.call)
            self._open.remove(running)

    def _note(self, kind: Any, call: Call) -> None:
        self._outcome.events.append(Event(kind, call, int(time.time() * 1000)))


def drawn(known: Known, number: int, held: Mapping[int, set[str]]) -> Step:
    """The next step, by the random numbers of the history.  held: brokers that stand still, and what is touched there:
    the others often do something with the same."""
    rng = known.rng
    free = [broker for broker in range(BROKERS) if broker not in held or rng.random() < 0.1] or list(held)
    near = set().union(*held.values()) if rng.random() < 0.6 else set()
    hold, fate = None, "answered"
    if known.owed and rng.random() < STORY and (step := next_step(known, number, rng.choice(free))) is not None:
        return step
    tries = 0
    while True:
        tries += 1
        row = rng.choices(list(ROWS.values()), [each.weight for each in ROWS.values()])[0]
        given = row.draw(known, number)
        if given is not None and (not near or near & row.touches(given) or tries > TRIES_NEAR):
            break
    if row.is_repeated and rng.random() < LOST:
        return lost(Step(number, row.name, given, rng.choice(free)), rng)
    if rng.random() < 0.2:
        hold = Hold(min(1 + int(rng.expovariate(0.5)), 9), rng.choice(("before", "after")), rng.choice((1, 2, 2, 3, 4)))
        fate = rng.choice(("answered", "answered", "abandoned", "crashed") if rng.random() < 0.7 else ("answered",))
    return Step(number, row.name, given, rng.choice(free), hold, fate)  # type: ignore[arg-type]


def last_looks(known: Known, number: int) -> Iterator[Step]:
    """At the end every view is compared with the model."""
    looks: list[tuple[str, dict[str, Any]]] = []
    for topic, partitions in list(known.topics.items()):
        for partition in range(partitions):
            place = {"topic": topic, "partition": partition}
            looks += [(name, {**place, "committed": True}) for name in ("fetch", "Fetch")]
            looks.append(("list_scheduled", place))
    looks += [("transaction_status", {"txn": txn}) for txn in known.ended if "#" not in txn]
    for topic, partition, group in sorted(known.groups):
        looks.append(("OffsetFetch", {"topic": topic, "partition": partition, "group": group}))
    for name, given in looks:
        number += 1
        yield Step(number, name, given, number % BROKERS)


async def history(
    url: str, seed: int, program: Sequence[Step] | None = None, pairs: Pairs | None = None, steps: int = STEPS
) -> Outcome:
    """Draws and runs a history, or runs this program; checks it."""
    outcome, known = Outcome(seed), Known(random.Random(seed))
    prefix = f"m{seed}-{time.monotonic_ns()}"
    RUNNING.clear()
    async with doors(url, prefix, BROKERS, one_call_transactions=seed % 3 > 0) as brokers:
        run = Run(brokers, outcome, known, pairs or Pairs())
        if program is None:
            for number in range(1, steps + 1):
                await run.do(drawn(known, number, run.held))
            await run.finish()
            for step in last_looks(known, steps):
                await run.do(step)
        else:
            for step in program:
                await run.do(step)
        await run.finish()
    with contextlib.suppress(TooManyConfigurations):
        outcome.failure = check(outcome.events)
        return outcome
    outcome.unchecked = True
    return outcome


def counted(outcomes: Sequence[Outcome]) -> Counter[str]:
    return Counter(
        f"{event.call.operation} {event.call.answer.code or 'lost'}"
        for outcome in outcomes
        for event in outcome.events
        if event.kind != "invoke"
    )
