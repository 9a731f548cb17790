"""Does a principal at its limit disturb another one?

    quiet   REST, 100 produces a second in an open loop
    noisy   Kafka, 16 connections in a closed loop, with a quota of NOISY_BYTES_PER_S

First quiet alone, then both, several times in turn; the figure is quiet's p99 with noisy divided by that without it, a
median of the rounds.  `noisy_share` is the part of its quota that noisy got: quiet must not be quiet because noisy is
blocked.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from pathlib import Path

from bench.lab import Lab
from bench.load import connected, request
from bench.processes import broker, folder
from bench.secured import asking, bearer, call, kafka_links, produce_frame

NOISY_BYTES_PER_S = 1_000_000
PER_S = 100
ROUNDS = 5
GOAL = 2.0


async def measure(lab: Lab) -> None:
    with folder() as home:
        async with broker("process", kafka=True, options=asking(Path(home))) as served:
            tokens = {}
            for name in ("quiet", "noisy"):
                await call(served, "POST", "/v1/topics", {"name": name, "partitions": 1})
                rule = {"principal": f"User:{name}", "operation": "WRITE", "resource": "TOPIC", "name": name}
                await call(served, "POST", "/v1/acls", {"acls": [rule]})
                response = await call(served, "POST", "/v1/tokens", {"principal": f"User:{name}"})
                tokens[name] = json.loads(response)["token"]
            await call(served, "PUT", "/v1/quotas/User:noisy", {"bytes_in_per_s": NOISY_BYTES_PER_S})
            ask = request(
                "POST", "/v1/topics/quiet/records", {"records": [{"text": "x" * 100}]}, headers=bearer(tokens["quiet"])
            )
            frame = produce_frame(100, 100, "noisy")
            async with connected(served, 8) as quiet, kafka_links(served, 16, tokens["noisy"]) as links:

                async def p99_ms(seconds: float) -> float:
                    until = time.perf_counter() + seconds
                    outcome = await quiet.paced(itertools.repeat(ask), PER_S, lambda: time.perf_counter() > until)
                    return float(outcome.percentile_ms(99))

                await p99_ms(lab.pace.warm_up_s)
                alone, beside, shares = [], [], []
                for _ in range(ROUNDS if lab.pace.runs > 1 else 1):
                    seconds = lab.pace.run_s * 2
                    alone.append(await p99_ms(seconds))
                    began = time.perf_counter()
                    noise = [asyncio.ensure_future(link.repeat(frame, began + 3_600)) for link in links]
                    beside.append(await p99_ms(seconds))
                    sent = sum(len(link.latencies_ms) for link in links) * len(frame)
                    shares.append(sent / (time.perf_counter() - began) / NOISY_BYTES_PER_S)
                    for link in links:
                        link.stop()
                    await asyncio.gather(*noise)  # the last responses are delayed until the quota is repaid
    lab.note("p99", "alone_ms", statistics.median(alone), "ms", "process")
    lab.note("p99", "beside_noisy_ms", statistics.median(beside), "ms", "process")
    ratio = statistics.median(b / a for a, b in zip(alone, beside, strict=True))
    lab.note("p99", "times_alone", ratio, "times", "process", GOAL)
    lab.note("p99", "noisy_share", statistics.median(shares), "of its quota", "process")
