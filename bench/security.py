"""What do authentication and TLS cost a producer?

    REST    POST /v1/topics/t/records   one record of 100 bytes     16 connections
    Kafka   Produce                     one batch of ten of them    16 connections

    on     a broker with authentication (a token or a login, and a rule) on and off in turns (switched.py)
    self   two successive turns of it without authentication: the accuracy of the figures
    tls    another broker, with TLS and without authentication, and the first one without it, in turns

A turn is compared with the mean of the turns before and after it, and every figure is the median of that over several
starts; `cpu` is the broker's CPU per request.  Requests are small, since the cost is per request: the larger they are,
the less it matters.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from bench.lab import Lab
from bench.load import Outcome, connected, request
from bench.processes import BenchFailed, RunningBroker, broker, cpu_s, folder
from bench.secured import asking, bearer, call, closed, kafka_links, produce_frame, speaking_tls, unchecked

CONNECTIONS = 16
STARTS = 3
TURN_S = 0.15  # short: the speed of a shared machine changes within seconds
TURNS = {"on": 60, "tls": 15}
SHARE_GOAL, CPU_GOAL = 0.95, 1.05
PATH, BODY = "/v1/topics/t/records", {"records": [{"text": "x" * 100}]}
RECORDS, RECORD_BYTES = 10, 100

Turn = tuple[float, float]  # requests in a second, CPU seconds of one
Way = Callable[[float], Awaitable[Turn]]  # seconds → a turn


async def measure(lab: Lab) -> None:
    pace = lab.pace
    rows: dict[tuple[str, str], list[list[Turn]]] = {}
    for _ in range(STARTS if pace.runs > 1 else 1):
        async with two_brokers() as doors:
            for door, ways in doors.items():
                for way in ways.values():
                    await way(pace.warm_up_s)
                for name, turns in TURNS.items():
                    order = ["off", *[name, "off"] * (turns if pace.runs > 1 else 1)]
                    rows.setdefault((door, name), []).append([await ways[each](TURN_S) for each in order])
    for (door, name), taken in rows.items():
        note(lab, door, name, taken)


@contextlib.asynccontextmanager
async def two_brokers() -> AsyncIterator[dict[str, dict[str, Way]]]:
    async with contextlib.AsyncExitStack() as stack:
        enter = stack.enter_async_context
        homes = [Path(stack.enter_context(folder())) for _ in range(2)]
        served = await enter(broker("process", kafka=True, options=asking(homes[0]), program="bench.switched"))
        tls = await enter(broker("process", kafka=True, options=speaking_tls(homes[1])))
        context, token, frame = unchecked(), await prepared(served), produce_frame(RECORDS, RECORD_BYTES)
        async with connected(tls, 1, context) as client:
            await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        plain, signed = (request("POST", PATH, BODY, headers=headers) for headers in ("", bearer(token)))
        rest, rest_tls = await enter(connected(served, CONNECTIONS)), await enter(connected(tls, CONNECTIONS, context))
        kafka = await enter(kafka_links(served, CONNECTIONS, token))
        kafka_tls = await enter(kafka_links(tls, CONNECTIONS, "", context))

        yield {
            "rest": {
                "off": timed(served, lambda seconds: rest.closed(itertools.repeat(plain), seconds), asks=False),
                "on": timed(served, lambda seconds: rest.closed(itertools.repeat(signed), seconds), asks=True),
                "tls": timed(tls, lambda seconds: rest_tls.closed(itertools.repeat(plain), seconds)),
            },
            "kafka": {
                "off": timed(served, lambda seconds: closed(kafka, frame, seconds), asks=False),
                "on": timed(served, lambda seconds: closed(kafka, frame, seconds), asks=True),
                "tls": timed(tls, lambda seconds: closed(kafka_tls, frame, seconds)),
            },
        }


async def prepared(served: RunningBroker) -> str:
    """Returns the token of a principal with a rule to write to the topic."""
    await call(served, "POST", "/v1/topics", {"name": "t", "partitions": 1})
    rule = {"principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "t"}
    await call(served, "POST", "/v1/acls", {"acls": [rule]})
    token: str = json.loads(await call(served, "POST", "/v1/tokens", {"principal": "User:ada"}))["token"]
    return token


async def switch(served: RunningBroker, *, asks: bool) -> None:
    """Raises BenchFailed if it had no effect: the figures would compare the broker with itself."""
    os.kill(served.broker_pid, signal.SIGUSR1 if asks else signal.SIGUSR2)
    for _ in range(100):
        if await refuses(served) is asks:
            return
        await asyncio.sleep(0.01)
    raise BenchFailed("Authentication could not be switched.")


async def refuses(served: RunningBroker) -> bool:
    """Whether unauthenticated requests are refused."""
    async with connected(served, 1) as client:
        try:
            await client.call("GET", "/v1/topics/t")
        except BenchFailed as error:
            if "401" not in str(error):
                raise
            return True
    return False


def timed(served: RunningBroker, run: Callable[[float], Awaitable[Outcome]], asks: bool | None = None) -> Way:
    async def one(seconds: float) -> Turn:
        if asks is not None:
            await switch(served, asks=asks)
        began = cpu_s(served.broker_pid) or 0.0
        outcome = await run(seconds)
        used = (cpu_s(served.broker_pid) or 0.0) - began
        return outcome.answers / outcome.seconds, used / outcome.answers

    return one


def note(lab: Lab, door: str, name: str, rows: list[list[Turn]]) -> None:
    """rows: turns off, on, off, on ... off of each start."""
    offs = [turn for row in rows for turn in row[::2]]
    goals = (SHARE_GOAL, CPU_GOAL) if name == "on" else (None, None)
    for which, (metric, goal) in enumerate(zip(("min_share_of_off", "cpu_per_request"), goals, strict=True)):
        parts = [
            row[at][which] * 2 / (row[at - 1][which] + row[at + 1][which])
            for row in rows
            for at in range(1, len(row), 2)
        ]
        lab.note(door, f"{metric}_{name}", statistics.median(parts), "of off", "process", goal)
    if name == "on":
        lab.note(door, "off_requests_per_s", statistics.median(turn[0] for turn in offs), "requests/s", "process")
        for which, metric in enumerate(("share_of_off_self", "cpu_per_request_self")):
            parts = [b[which] / a[which] for row in rows for a, b in itertools.pairwise(row[::2])]
            lab.note(door, metric, statistics.median(parts), "of off", "process")
