"""Sends mutated requests to a broker's Kafka and REST ports, and fails if other clients are affected.

    .venv/bin/python scripts/fuzz.py --seconds 60 --seed 7            one storm
    .venv/bin/python scripts/fuzz.py --replay 01.000.bin              sends saved frames and prints the responses

`redis-ledger serve` runs as a process of its own.  Beside the senders (tests/fuzz/drive.py) two honest clients do
transactions (honest.py), a janitor keeps the topics, and floods, bombs and large halves of requests come now and then
(scenes.py), and mutated bodies go to the REST port (rest.py).  What is small to send and large to answer is built once,
before the broker starts (bombs.py).  What counts against the broker: a trace in its log, an answer that is missing or
cannot be read, a connection closed instead of one, an honest client that fails or waits, memory above the bound, /livez
or ApiVersions later than 2 s, its death; and afterwards a broker that is not ready, readers that are held up, a drain
that does not end with exit code 0.
Findings go to --findings, with the frames that caused them.  The exit code is 1 if there are any.

    --seconds   storm ─────────────▶│ afterwards ───▶│ drain, at most END_S_MAX
                                    └ at most 40 s, and a third of a short run
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# A script has its own folder on sys.path, not the root.
from redis_ledger.config import Config  # noqa: E402
from redis_ledger.kafka.router import routes  # noqa: E402
from tests.fuzz import afterwards, bombs, corpus, scenes  # noqa: E402
from tests.fuzz.drive import Counts, Driver  # noqa: E402
from tests.fuzz.findings import Findings  # noqa: E402
from tests.fuzz.honest import Honest, HonestFailed  # noqa: E402
from tests.fuzz.mutate import Mutator  # noqa: E402
from tests.fuzz.process import Broker, running  # noqa: E402
from tests.fuzz.rest import Rest  # noqa: E402
from tests.fuzz.watch import Alive, Watch  # noqa: E402
from tests.fuzz.words import Words  # noqa: E402
from tests.support.kafka_client import KafkaClient  # noqa: E402

FRAME_S, IDLE_S = 2.0, 10.0
# Short times, so that remains of clients are cleaned up during the run.
CONFIG = Config(
    kafka_frame_ms=int(FRAME_S * 1000), kafka_idle_ms=int(IDLE_S * 1000), kafka_inflight_bytes_max=64 << 20,
    tail_cache_bytes=16 << 20,
)  # fmt: skip
SETTINGS = {
    name: str(getattr(CONFIG, name))
    for name in ("kafka_frame_ms", "kafka_idle_ms", "kafka_inflight_bytes_max", "tail_cache_bytes")
}
WARM_UP_S, WARM_UP_SHARE = 3.0, 0.1
STOP_S_MAX, END_S_MAX = 5.0, 8.0  # for what is under way when the storm is over; for what is left after --seconds
TRANSACTION_S, TRANSACTION_SHARE = 20.0, 0.2
AFTERWARDS_SHARE = 1 / 3
FLOOD_EVERY_S, LARGE_EVERY_S, BOMBS_EVERY_S, REPEATS_EVERY_S = 7.0, 11.0, 120.0, 60.0
SCENES = ("floods", "halves", "deaf", "patterns", "bombs", "repeats", "rest")
SCENE_FROM = 100  # senders of floods and the like have numbers from here


class Clock:
    """The schedule of a run: the end of the storm, and the maximum duration of transactions."""

    def __init__(self, seconds: float) -> None:
        self.began_s = time.monotonic()
        self.warm_up_s = min(WARM_UP_S, seconds * WARM_UP_SHARE)
        self.settle_s = min(afterwards.SETTLE_S_MAX, seconds * AFTERWARDS_SHARE)
        self.transaction_ms = int(min(TRANSACTION_S, seconds * TRANSACTION_SHARE) * 1_000)
        self.over_s = self.began_s + seconds - self.settle_s
        self.end_s = self.began_s + seconds + END_S_MAX

    @property
    def left_s(self) -> float:
        """Seconds until the end of the run."""
        return max(0.5, self.end_s - time.monotonic())


class Armoury(NamedTuple):
    """Requests that are built before the broker starts, because that takes seconds."""

    batches: list[bombs.Bomb]
    texts: list[bombs.Bomb]
    repeated: list[bombs.Bomb]

    @classmethod
    def build(cls, seed: int) -> Armoury:
        return cls(bombs.batches(), list(bombs.texts()), bombs.repeated(Words(), seed))


class Storm:
    def __init__(
        self, broker: Broker, asked: argparse.Namespace, findings: Findings, armoury: Armoury, clock: Clock
    ) -> None:
        self.broker, self.asked, self.findings, self.clock = broker, asked, findings, clock
        self.words, self.armoury = Words(), armoury
        self.driver = Driver(broker.kafka, Mutator(asked.seed, self.words), self.words, findings, FRAME_S)
        self.honest = [
            Honest(broker.kafka, f"honest-{name}", modern=name == "modern", timeout_ms=clock.transaction_ms)
            for name in ("classic", "modern")
        ]
        self.bombs = scenes.Bombs(broker.kafka, broker.http, findings, armoury.batches)
        self.repeats: Counter[str] = Counter()
        self.rest = Rest(broker.http, findings, asked.seed, armoury.texts, armoury.batches)
        self.watch, self.alive = Watch(broker, findings, CONFIG), Alive(broker, findings)

    def over(self) -> bool:
        return time.monotonic() > self.clock.over_s or self.broker.exit_code is not None

    async def run(self) -> None:
        async with KafkaClient(self.broker.kafka, "janitor") as client:
            await scenes.put_in_order(client, self.words)
            await scenes.put_in_order(client, self.words)
        beside = [self._honest(each) for each in self.honest]
        beside += [scenes.keep_order(self.broker.kafka, self.words, self.findings, self.over)]
        running_beside = [asyncio.create_task(work) for work in beside]
        await asyncio.sleep(self.clock.warm_up_s)
        self.watch.baseline_mb = self.broker.rss_mb()
        senders = [self.driver.run(n, self.asked.connections, self.over) for n in range(self.asked.connections)]
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + self._left_s() + STOP_S_MAX):
                await asyncio.gather(
                    self.watch.run(self.over), self.alive.run(self.over), *senders, *running_beside, *self._scenes()
                )
        except TimeoutError:
            self.findings.add("storm", f"it was not over {STOP_S_MAX:.0f} s after its end", "over")
        await self.driver.finish(STOP_S_MAX)

    def _left_s(self) -> float:
        return max(0.0, self.clock.over_s - time.monotonic())

    def _scenes(self) -> Iterator[Coroutine[Any, Any, None]]:
        kafka, left_out = self.broker.kafka, self.asked.without
        if "floods" not in left_out:
            yield self._again(
                FLOOD_EVERY_S, lambda n, rng: scenes.flood(kafka, SCENE_FROM + n % 50, rng, self.findings)
            )
        if "halves" not in left_out:
            yield self._again(LARGE_EVERY_S, lambda n, _: self._large_halves())
        if "deaf" not in left_out:
            yield self._again(BOMBS_EVERY_S, lambda n, _: scenes.deaf(kafka, IDLE_S, self.findings))
        if "patterns" not in left_out:
            yield self._again(BOMBS_EVERY_S, lambda n, _: scenes.pattern(kafka, self.findings))
        if "bombs" not in left_out:
            yield self._again(BOMBS_EVERY_S, lambda n, _: self.bombs.go_off())
        if "repeats" not in left_out:
            yield self._again(
                REPEATS_EVERY_S,
                lambda n, _: scenes.repeats(kafka, SCENE_FROM + 70, self.armoury.repeated, self.findings, self.repeats),
            )
        if "rest" not in left_out:
            yield self.rest.run(self.over)

    async def _large_halves(self) -> None:
        await asyncio.gather(*(scenes.large_half(self.broker.kafka, SCENE_FROM + 60 + n) for n in range(4)))

    async def _honest(self, client: Honest) -> None:
        try:
            await client.run(self.over)
        except HonestFailed as failed:
            self.findings.add("honest client failed", f"{client.topic}, round {client.round}: {failed}", client.topic)
        if slow := client.verdict():
            self.findings.add("honest client waited", f"{client.topic}: {slow}", client.topic)

    async def _again(self, every_s: float, scene: Callable[[int, Random], Awaitable[None]]) -> None:
        number = 0
        while not self.over():
            await asyncio.sleep(min(every_s, 2.0 if number == 0 else every_s, self._left_s()))
            try:
                async with asyncio.timeout(self._left_s()):  # unfinished requests are not judged
                    await scene(number, Random(f"{self.asked.seed}/scene/{number}"))
            except TimeoutError:
                if self._left_s() > 0.5:  # its own; the end of the storm may be a moment away still
                    raise
            except OSError as error:
                if not self.over():
                    self.findings.add("no connection", f"{type(error).__name__} {error}")
            number += 1


async def storm(asked: argparse.Namespace, findings: Findings) -> Storm:
    armoury, clock = Armoury.build(asked.seed), Clock(asked.seconds)
    timeouts = dict.fromkeys(("max_transaction_timeout_ms", "default_timeout_ms"), str(clock.transaction_ms))
    async with running(SETTINGS | timeouts) as broker:
        one = Storm(broker, asked, findings, armoury, clock)
        await one.run()
        await asyncio.sleep(0.2)
        one.watch.look()
        try:
            async with asyncio.timeout(max(1.0, clock.left_s - END_S_MAX / 2)):
                if broker.exit_code is None:
                    await afterwards.check(broker, one.words, findings, clock.settle_s, clock.transaction_ms)
                    one.watch.look()
                if broker.exit_code is None:
                    await afterwards.reproduce(broker, one.watch.tail, findings)
        except TimeoutError:
            print("some final checks were left out for lack of time; use more --seconds")
        if broker.exit_code is None and (code := await broker.drain(clock.left_s)) != 0:
            findings.add("drain", "it did not end" if code is None else f"exit code {code}")
        one.watch.tail.look()
        one.watch.tail.close()
        return one


# -- summary ----------------------------------------------------------------------------------------------------------


def summary(one: Storm, took_s: float) -> str:
    tally, findings, watch = one.driver.tally, one.findings, one.watch
    honest = [
        f"  {each.topic:<16} {len(each.took_s)} round trips,"
        f" median {statistics.median(each.took_s or [0]) * 1000:.0f} ms, worst {max(each.took_s or [0]):.2f} s"
        for each in one.honest
    ]
    lines = [
        f"seed {one.asked.seed}, {one.asked.connections} connections, {took_s:.0f} s",
        f"frames     {tally.frames} sent ({tally.bytes / 1e6:.0f} MB), {tally.frames / took_s:.0f} a second",
        f"  ways     {shown(tally.ways)}",
        f"  outcomes {shown(tally.outcomes)}",
        f"  closed although sound: {shown(tally.closed_sound) or 'none'}",
        f"coverage   {coverage(tally)}",
        f"log        {shown(findings.events) or 'nothing'}",
        "honest", *honest,
        f"bombs      {'; '.join(one.bombs.answers) or 'none'}",
        f"repeats    {shown(one.repeats) or 'none'}, of {len(one.armoury.repeated)}",
        f"REST       {shown(one.rest.outcomes) or 'nothing'}",
        "answered   " + ", ".join(f"{name} within {worst:.2f} s" for name, worst in one.alive.slowest_s.items()),
        f"fuzzer     its own event loop was late by {watch.late_s:.2f} s at most",
        f"memory     {watch.baseline_mb:.0f} MB at first, {watch.highest_mb:.0f} at most,"
        f" {watch.baseline_mb + watch.growth_mb_max:.0f} allowed",
        f"findings   {len(findings.found)}",
    ]  # fmt: skip
    for signature, found in findings.found.items():
        lines.append(f"  {signature}  ({found.times} times{', reproduced' if found.is_reproduced else ''})")
        lines += [f"    {found.detail[:300]}"]
        lines += [f"    {afterwards.described(found.candidates[0])}"] if found.candidates else []
    return "\n".join(lines)


def shown(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items(), key=lambda one: -one[1]))


def coverage(tally: Counts) -> str:
    served = corpus.served()
    answered = [one for one in served if tally.answered[one]]
    missing = [f"{served[one]} {one[1]}" for one in served if not tally.answered[one]]
    apis = len({key for key, _ in answered})
    summary = f"{apis} of {len(routes())} APIs answered, in {len(answered)} of {len(served)} versions"
    return summary + (f"; not {', '.join(missing[:12])}{' ...' if len(missing) > 12 else ''}" if missing else "")


async def replay(paths: list[Path]) -> int:
    findings = Findings(0)
    async with running(SETTINGS) as broker:
        words, watch = Words(), Watch(broker, findings, CONFIG)
        async with KafkaClient(broker.kafka, "janitor") as client:
            await scenes.put_in_order(client, words)
        for path in paths:
            answers = await afterwards.send_alone(broker.kafka, path.read_bytes())
            print(f"{path}: {[answer[:80].hex() if answer else 'closed' for answer in answers] or 'silence'}")
            for signature in watch.tail.look():
                print(f"  {signature}")
        for found in findings.found.values():
            print(found.detail)
        watch.tail.close()
    return 1 if findings.found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir()) / "redis-ledger-fuzz-findings")
    parser.add_argument("--without", nargs="*", default=[], choices=SCENES)
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    asked = parser.parse_args()
    if asked.replay:
        return asyncio.run(replay(asked.replay))
    findings, began = Findings(asked.seed, asked.findings), time.monotonic()
    try:
        one = asyncio.run(storm(asked, findings))
    finally:
        findings.save()
    print(summary(one, asked.seconds))
    where = f"findings in {asked.findings}" if findings.found else "nothing found"
    print(f"{where} ({time.monotonic() - began:.0f} s)")
    return 1 if findings.found else 0


if __name__ == "__main__":
    sys.exit(main())
