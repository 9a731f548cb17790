"""What does it cost a producer that the broker asks who calls, and that it speaks TLS?

    REST    POST /v1/topics/t/records   one record of 100 bytes     16 connections
    Kafka   Produce                     one batch of ten of them    16 connections

Three brokers, each with its Redis, stand side by side and are asked in turn, again and again: off (nobody is asked), on
(a token, or a login, and a rule), tls (off, encrypted).  What is told is the median of the ratios within each round, so
that a machine that does other things meanwhile disturbs all three alike; `cpu` is the broker's CPU per request.
Small requests, since what is asked is asked once for each: the larger they are, the less it matters.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.lab import Lab
from bench.load import Outcome, connected, request
from bench.processes import Served, broker, cpu_s, folder
from bench.secured import asking, bearer, call, closed, kafka_links, produce_frame, speaking_tls, unchecked

CONNECTIONS = 16
ROUNDS = 9
SHARE_GOAL, CPU_GOAL = 0.95, 1.05
BODY = {"records": [{"text": "x" * 100}]}
RECORDS, RECORD_BYTES = 10, 100

Run = Callable[[float], Awaitable[tuple[float, float]]]  # seconds → requests in a second, CPU seconds of one


async def measure(lab: Lab) -> None:
    async with contextlib.AsyncExitStack() as stack:
        homes = {name: Path(stack.enter_context(folder())) for name in ("on", "tls")}
        enter = stack.enter_async_context
        off = await enter(broker("process", kafka=True))
        on = await enter(broker("process", kafka=True, options=asking(homes["on"])))
        tls = await enter(broker("process", kafka=True, options=speaking_tls(homes["tls"])))
        context = unchecked()
        token = await prepared(on)
        for served, given in ((off, None), (tls, context)):
            async with connected(served, 1, given) as client:
                await client.call("POST", "/v1/topics", {"name": "t", "partitions": 1})
        rest = {
            "off": await enter(connected(off, CONNECTIONS)), "on": await enter(connected(on, CONNECTIONS)),
            "tls": await enter(connected(tls, CONNECTIONS, context)),
        }  # fmt: skip
        kafka = {
            "off": await enter(kafka_links(off, CONNECTIONS)), "on": await enter(kafka_links(on, CONNECTIONS, token)),
            "tls": await enter(kafka_links(tls, CONNECTIONS, "", context)),
        }  # fmt: skip
        brokers = {"off": off, "on": on, "tls": tls}
        frame = produce_frame(RECORDS, RECORD_BYTES)

        def by_rest(name: str) -> Run:
            data = request("POST", "/v1/topics/t/records", BODY, headers=bearer(token) if name == "on" else "")
            return timed(brokers[name], lambda seconds: rest[name].closed(itertools.repeat(data), seconds))

        def by_kafka(name: str) -> Run:
            return timed(brokers[name], lambda seconds: closed(kafka[name], frame, seconds))

        for door, way in (("rest", by_rest), ("kafka", by_kafka)):
            await compare(lab, door, {name: way(name) for name in brokers})


async def prepared(served: Served) -> str:
    """The token of a principal that may write to the topic, by a rule."""
    await call(served, "POST", "/v1/topics", {"name": "t", "partitions": 1})
    rule = {"principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "t"}
    await call(served, "POST", "/v1/acls", {"acls": [rule]})
    token: str = json.loads(await call(served, "POST", "/v1/tokens", {"principal": "User:ada"}))["token"]
    return token


def timed(served: Served, run: Callable[[float], Awaitable[Outcome]]) -> Run:
    async def one(seconds: float) -> tuple[float, float]:
        began = cpu_s(served.broker_pid) or 0.0
        outcome = await run(seconds)
        used = (cpu_s(served.broker_pid) or 0.0) - began
        return outcome.answers / outcome.seconds, used / outcome.answers

    return one


async def compare(lab: Lab, door: str, ways: dict[str, Run]) -> None:
    pace = lab.pace
    for run in ways.values():
        await run(pace.warm_up_s)
    rounds = []
    for number in range(ROUNDS if pace.runs > 1 else 1):
        names = list(ways) if number % 2 else list(reversed(ways))  # who comes first has no advantage
        rounds.append({name: await ways[name](pace.run_s / 2) for name in names})
    lab.note(door, "off_requests_per_s", statistics.median(each["off"][0] for each in rounds), "requests/s", "process")
    for name, share_goal, cpu_goal in (("on", SHARE_GOAL, CPU_GOAL), ("tls", None, None)):
        share = statistics.median(each[name][0] / each["off"][0] for each in rounds)
        cpu = statistics.median(each[name][1] / each["off"][1] for each in rounds)
        lab.note(door, f"min_share_of_off_{name}", share, "of off", "process", share_goal)
        lab.note(door, f"cpu_per_request_{name}", cpu, "of off", "process", cpu_goal)
