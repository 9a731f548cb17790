"""What does it cost a producer that the broker asks who calls, and that it speaks TLS?

    REST    POST /v1/topics/t/records   one record of 100 bytes     16 connections
    Kafka   Produce                     one batch of ten of them    16 connections

    on     a broker that asks (a token, or a login, and a rule), between two turns in which it does not (switched.py)
    self   the first of those two beside the second: how far to believe a figure
    tls    another broker, encrypted, that asks nobody, beside the first while it does not ask

Every figure is the median of the ratios within each round, over several starts; `cpu` is the broker's CPU per request.
Small requests, since what is asked is asked once for each: the larger they are, the less it matters.
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
from bench.processes import BenchFailed, Served, broker, cpu_s, folder
from bench.secured import asking, bearer, call, closed, kafka_links, produce_frame, speaking_tls, unchecked

CONNECTIONS = 16
STARTS, ROUNDS = 3, 5
SHARE_GOAL, CPU_GOAL = 0.95, 1.05
PATH, BODY = "/v1/topics/t/records", {"records": [{"text": "x" * 100}]}
RECORDS, RECORD_BYTES = 10, 100

Turn = tuple[float, float]  # requests in a second, CPU seconds of one
Way = Callable[[float], Awaitable[Turn]]  # seconds → a turn


async def measure(lab: Lab) -> None:
    pace = lab.pace
    rounds: dict[str, list[dict[str, Turn]]] = {"rest": [], "kafka": []}
    for _ in range(STARTS if pace.runs > 1 else 1):
        async with two_brokers() as doors:
            for door, ways in doors.items():
                for way in ways.values():
                    await way(pace.warm_up_s)
                rounds[door] += [
                    {name: await ways[name](pace.run_s / 4) for name in order}
                    for order in itertools.islice(itertools.cycle(ORDERS), ROUNDS if pace.runs > 1 else 1)
                ]
    for door, taken in rounds.items():
        note(lab, door, taken)


ORDERS = ("before", "on", "after", "tls"), ("tls", "before", "on", "after")


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

        def off_and_on(off: Callable[[float], Awaitable[Outcome]], on: Callable[[float], Awaitable[Outcome]]) -> Ways:
            return {
                "before": timed(served, off, asks=False), "on": timed(served, on, asks=True),
                "after": timed(served, off, asks=False),
            }  # fmt: skip

        yield {
            "rest": off_and_on(
                lambda seconds: rest.closed(itertools.repeat(plain), seconds),
                lambda seconds: rest.closed(itertools.repeat(signed), seconds),
            )
            | {"tls": timed(tls, lambda seconds: rest_tls.closed(itertools.repeat(plain), seconds))},
            "kafka": off_and_on(*[lambda seconds: closed(kafka, frame, seconds)] * 2)
            | {"tls": timed(tls, lambda seconds: closed(kafka_tls, frame, seconds))},
        }


Ways = dict[str, Way]


async def prepared(served: Served) -> str:
    """The token of a principal that may write to the topic, by a rule."""
    await call(served, "POST", "/v1/topics", {"name": "t", "partitions": 1})
    rule = {"principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "t"}
    await call(served, "POST", "/v1/acls", {"acls": [rule]})
    token: str = json.loads(await call(served, "POST", "/v1/tokens", {"principal": "User:ada"}))["token"]
    return token


async def switch(served: Served, *, asks: bool) -> None:
    """Raises BenchFailed if it had no effect: the figures would be those of a broker with itself."""
    os.kill(served.broker_pid, signal.SIGUSR1 if asks else signal.SIGUSR2)
    for _ in range(100):
        if await refuses(served) is asks:
            return
        await asyncio.sleep(0.01)
    raise BenchFailed("The broker could not be switched.")


async def refuses(served: Served) -> bool:
    """Whether who does not say who they are."""
    async with connected(served, 1) as client:
        try:
            await client.call("GET", "/v1/topics/t")
        except BenchFailed as error:
            if "401" not in str(error):
                raise
            return True
    return False


def timed(served: Served, run: Callable[[float], Awaitable[Outcome]], asks: bool | None = None) -> Way:
    async def one(seconds: float) -> Turn:
        if asks is not None:
            await switch(served, asks=asks)
        began = cpu_s(served.broker_pid) or 0.0
        outcome = await run(seconds)
        used = (cpu_s(served.broker_pid) or 0.0) - began
        return outcome.answers / outcome.seconds, used / outcome.answers

    return one


def note(lab: Lab, door: str, rounds: list[dict[str, Turn]]) -> None:
    """Shares: of the requests and of the CPU of the two turns around `on`."""

    def median(of: Callable[[dict[str, Turn]], float]) -> float:
        return statistics.median(map(of, rounds))

    def off(each: dict[str, Turn], which: int) -> float:
        return (each["before"][which] + each["after"][which]) / 2

    lab.note(door, "off_requests_per_s", median(lambda each: off(each, 0)), "requests/s", "process")
    for name, share_goal, cpu_goal in (("on", SHARE_GOAL, CPU_GOAL), ("tls", None, None)):
        share = median(lambda each, name=name: each[name][0] / off(each, 0))  # type: ignore[misc]
        cpu = median(lambda each, name=name: each[name][1] / off(each, 1))  # type: ignore[misc]
        lab.note(door, f"min_share_of_off_{name}", share, "of off", "process", share_goal)
        lab.note(door, f"cpu_per_request_{name}", cpu, "of off", "process", cpu_goal)
    lab.note(door, "share_of_off_self", median(lambda each: each["before"][0] / each["after"][0]), "of off", "process")
    lab.note(
        door, "cpu_per_request_self", median(lambda each: each["before"][1] / each["after"][1]), "of off", "process"
    )
