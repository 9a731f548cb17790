"""Which modules does a request pass?  Counts them in a running broker, and writes the table of docs/architecture.md.

    .venv/bin/python -m bench.walk              prints the modules of each request, in order, and the counts
    .venv/bin/python -m bench.walk --calls      also every function and how often it is called
    .venv/bin/python -m bench.walk --write      rewrites the table

A request is sent WARM times, then RUNS times while the broker's profiler is on.  A function counts if every run called
it, so timers of the broker do not.  Resumed coroutines are not counted again.  An object is an instance of a class of
this project whose method is called.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import contextlib
import inspect
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from bench import load
from bench.delay import kafka
from bench.processes import ROOT, RunningBroker, broker
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.records.build import encode
from tests.support.kafka_codec import read_response, request

PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- walks: begin, written by bench/walk.py -->\n", "<!-- walks: end -->\n"
PACKAGES = (str(ROOT / "redis_ledger") + os.sep, str(ROOT / "app") + os.sep)
GENERATED = "/protocol/messages/"
WARM, RUNS = 20, 15
AFTERMATH_S = 0.02  # what the broker does after its response
ADD_PARTITIONS, ADD_PARTITIONS_VERSION, END_TXN, END_TXN_VERSION, INIT, INIT_VERSION = 24, 3, 26, 4, 22, 4
CONTROL = "WALK_CONTROL"
START, STOP = "start\n", "stop\n"
BEFORE = {  # at commit f75bcc6
    "Kafka Produce": {"modules": 31, "calls": 114},
    "REST produce": {"modules": 31, "calls": 138},
    "Kafka Fetch": {"modules": 32, "calls": 96},
    "Kafka EndTxn": {"modules": 30, "calls": 139},
}
ADDED = {  # since then: metrics of transactions, the clock of Redis, requests that are late, checks of records
    "Kafka Produce": {"modules": 4, "calls": 6},
    "REST produce": {"modules": 3, "calls": 7},
    "Kafka Fetch": {"modules": 0, "calls": 4},
    "Kafka EndTxn": {"modules": 4, "calls": 0},
}
COMPREHENSIONS = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}  # from Python 3.12 on most are no calls


class Call(NamedTuple):
    """module: its path from the root.  times: how often a request calls the function."""

    module: str
    function: str
    times: int


class Walk(NamedTuple):
    """What one request passes, in the order of the first call."""

    calls: Sequence[Call]
    objects: Sequence[str]  # their classes

    @property
    def modules(self) -> list[str]:
        return list(dict.fromkeys(call.module for call in self.calls))

    def counts(self) -> dict[str, int]:
        times = sum(call.times for call in self.calls)
        return {
            "modules": len(self.modules),
            "functions": len(self.calls),
            "calls": times,
            "objects": len(self.objects),
        }


# -- in the broker's process -------------------------------------------------------------------------------------------


class Profile:
    """Counts the calls of the project's functions in this thread, from "start" to "stop" on a socket."""

    def __init__(self, path: str) -> None:
        self._is_on = False
        self._calls = Counter[CodeType]()
        self._frames = dict[int, FrameType]()  # of coroutines: one that is resumed is not called again
        self._objects = dict[int, Any]()
        sys.setprofile(self._event)
        threading.Thread(target=self._serve, args=(path,), daemon=True).start()

    def _serve(self, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(path)
            for line in control.makefile():
                self._is_on = line == START
                control.sendall((json.dumps({} if self._is_on else self._take()) + "\n").encode())

    def _take(self) -> dict[str, Any]:
        calls, objects = self._calls, self._objects
        self._calls, self._objects, self._frames = Counter(), {}, {}
        return {
            "calls": [(_file(code), code.co_qualname, times) for code, times in calls.items()],
            "objects": sorted(type(each).__qualname__ for each in objects.values()),
        }

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not self._is_on or event != "call" or not _file(code).startswith(PACKAGES) or code.co_name in COMPREHENSIONS:
            return
        if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_GENERATOR):
            if id(frame) in self._frames:
                return
            self._frames[id(frame)] = frame  # held, so that no other frame gets its id
        self._calls[code] += 1
        if code.co_varnames[:1] == ("self",):
            self._objects[id(frame.f_locals["self"])] = frame.f_locals["self"]


@cache
def _file(code: CodeType) -> str:
    return os.path.realpath(code.co_filename)


def serve() -> None:
    """The command line of `redis-ledger`, with a profile."""
    from redis_ledger.app.cli.main import app

    Profile(os.environ[CONTROL])
    app()


# -- requests ----------------------------------------------------------------------------------------------------------


class Profiled:
    """Measures the requests of a running broker.  reader, writer: of its profile."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def aclose(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def walk(self, send: Callable[[], Awaitable[object]], before: Callable[[], Awaitable[object]]) -> Walk:
        """before: prepares each request, unmeasured."""
        for _ in range(WARM):
            await before()
            await send()
        runs = [await self._run(send, before) for _ in range(RUNS)]
        counts = [{(file, name): times for file, name, times in run["calls"]} for run in runs]
        calls = [
            Call(key[0].removeprefix(f"{ROOT}/"), key[1], int(statistics.median(run[key] for run in counts)))
            for key in counts[0]
            if all(key in run for run in counts)
        ]
        return Walk(calls, min((run["objects"] for run in runs), key=len))

    async def _run(self, send: Callable[[], Awaitable[object]], before: Callable[[], Awaitable[object]]) -> Any:
        await before()
        await asyncio.sleep(AFTERMATH_S)
        await self._command(START)
        await send()
        await asyncio.sleep(AFTERMATH_S)
        return await self._command(STOP)

    async def _command(self, line: str) -> Any:
        self._writer.write(line.encode())
        return json.loads(await self._reader.readline())


async def nothing() -> None:
    """Where a request needs no preparation."""


def batch(*producer: int) -> bytes:
    """producer: id, epoch and first sequence, of a transaction."""
    rows = [(None, b"value", (), 1_700_000_000_000)]
    if not producer:
        return encode(rows)
    return encode(rows, producer_id=producer[0], epoch=producer[1], sequence=producer[2], transactional=True)


async def walks(served: RunningBroker, profiled: Profiled) -> dict[str, Walk]:
    async with load.connected(served, 1) as rest, kafka.connected(served, 1) as connections:
        (connection,) = connections
        for topic in ("t", "fetched"):
            await rest.call("POST", "/v1/topics", {"name": topic, "partitions": 1})
        found = dict[str, Walk]()

        async def kafka_produce() -> None:
            kafka.expect_produced(await connection.ask(kafka.produce("t", batch())))

        async def rest_produce() -> None:
            await rest.call("POST", "/v1/topics/t/records", {"records": [{"value": "value"}]})

        async def fetch() -> None:
            assert kafka.fetched(await connection.ask(kafka.fetch("fetched", 0, 0)))

        kafka.expect_produced(await connection.ask(kafka.produce("fetched", batch())))
        found["Kafka Produce"] = await profiled.walk(kafka_produce, nothing)
        found["REST produce"] = await profiled.walk(rest_produce, nothing)
        found["Kafka Fetch"] = await profiled.walk(fetch, nothing)
        transaction = Transaction(connection)
        await transaction.open()
        found["Kafka EndTxn"] = await profiled.walk(transaction.end, transaction.begin)
        return found


class Transaction:
    """A transactional producer."""

    def __init__(self, connection: kafka.Connection) -> None:
        self._connection, self._producer, self._sequence = connection, (0, 0), 0

    async def _ask(self, key: int, version: int, message: Any) -> Any:
        arrival = await self._connection.ask(b"".join(request(key, version, 0, "bench", message)))
        return read_response(key, version, arrival.frame)[1]

    async def open(self) -> None:
        answer = await self._ask(INIT, INIT_VERSION, InitProducerIdRequest("tx", 60_000))
        assert not answer.error_code, f"InitProducerId: error {answer.error_code}"
        self._producer = answer.producer_id, answer.producer_epoch

    async def begin(self) -> None:
        topics = [AddPartitionsToTxnTopic("t", [0])]
        message = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx", v3_and_below_producer_id=self._producer[0],
            v3_and_below_producer_epoch=self._producer[1], v3_and_below_topics=topics,
        )  # fmt: skip
        await self._ask(ADD_PARTITIONS, ADD_PARTITIONS_VERSION, message)
        data = [PartitionProduceData(0, batch(*self._producer, self._sequence))]
        topic = TopicProduceData(name="t", partition_data=data)
        answer = await self._ask(
            kafka.PRODUCE, kafka.PRODUCE_VERSION, ProduceRequest("tx", -1, kafka.TIMEOUT_MS, [topic])
        )
        slot = answer.responses[0].partition_responses[0]
        assert not slot.error_code, f"Produce: error {slot.error_code}"
        self._sequence += 1

    async def end(self) -> None:
        answer = await self._ask(END_TXN, END_TXN_VERSION, EndTxnRequest("tx", *self._producer, True))
        assert not answer.error_code, f"EndTxn: error {answer.error_code}"


async def measure() -> dict[str, Walk]:
    profiles = asyncio.Queue[Profiled]()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CONTROL] = str(Path(folder) / "control")
        control = await asyncio.start_unix_server(
            lambda reader, writer: profiles.put_nowait(Profiled(reader, writer)), os.environ[CONTROL]
        )
        try:
            async with broker("process", kafka=True, program="bench.walk") as served:
                async with contextlib.aclosing(await profiles.get()) as profiled:
                    return await walks(served, profiled)
        finally:
            control.close()


# -- the page ----------------------------------------------------------------------------------------------------------


def write(found: Mapping[str, Walk]) -> None:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{counts_table(found)}\n{module_table(found)}\n{END}{after}")


def counts_table(found: Mapping[str, Walk]) -> str:
    rows = [f"| | {' | '.join(found)} |", f"| --- |{' ---: |' * len(found)}"]
    counts = {name: walk.counts() for name, walk in found.items()}
    for what in ("modules", "calls"):
        rows.append(f"| {what} | {' | '.join(str(counts[name][what]) for name in found)} |")
        rows.append(f"| {what} before | {' | '.join(str(BEFORE[name][what]) for name in found)} |")
    return "\n".join(rows) + "\n"


def module_table(found: Mapping[str, Walk]) -> str:
    steps = page_steps(found)
    rows = [f"| module | {' | '.join(found)} | what it does |", f"| --- |{' ---: |' * len(found)} --- |"]
    rows += [f"| `{_shown(each)}` | {' | '.join(numbers)} | {purpose(each)} |" for each, numbers in steps.items()]
    return "\n".join(rows) + "\n"


def page_steps(found: Mapping[str, Walk]) -> dict[str, list[str]]:
    """Module → its step in each request, "" where the request does not pass it."""
    steps = [{module: str(number) for number, module in enumerate(walk.modules, 1)} for walk in found.values()]
    modules = dict.fromkeys(module for walk in found.values() for module in walk.modules)
    return {module: [each.get(module, "") for each in steps] for module in modules}


def read_page() -> dict[str, list[str]]:
    """`page_steps`, as the page has them."""
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0].partition("| module |")[2]
    rows = [line.strip("| ").split(" | ", 1) for line in table.splitlines() if line.startswith("| `")]
    cells = {row[0].strip("`"): row[1].rsplit("|", 1)[0].split("|") for row in rows}
    return {module: [number.strip() for number in numbers] for module, numbers in cells.items()}


def purpose(module: str) -> str:
    """The first sentence of the module's docstring."""
    if GENERATED in module:
        return "Generated codec of the message"
    text = (ast.get_docstring(ast.parse((ROOT / module).read_text())) or "").partition("\n\n")[0].replace("\n", " ")
    return text.partition(". ")[0].rstrip(".:").replace("|", "\\|")


def _shown(module: str) -> str:
    return module.removeprefix("redis_ledger/")


async def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.walk", description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", action="store_true", help="also print every function")
    parser.add_argument("--write", action="store_true", help="rewrite the table of docs/architecture.md")
    given = parser.parse_args()
    found = await measure()
    if given.write:
        await asyncio.to_thread(write, found)
    for name, walk in found.items():
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in walk.counts().items())}")
        for module in walk.modules:
            print(f"  {module}")
            for call in walk.calls:
                if given.calls and call.module == module:
                    print(f"    {call.times:3} {call.function}")
        if given.calls:
            print(f"  objects: {', '.join(walk.objects)}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve()
    else:
        sys.exit(asyncio.run(main()))
