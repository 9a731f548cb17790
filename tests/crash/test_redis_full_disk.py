"""Full disk of the embedded Redis: every broker reports it, no acknowledged record is lost, and writes resume later."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from redis_ledger.app.embedded_redis.server import running_pid
from tests.support.processes import Serve, eventually

CHUNK = base64.b64encode(os.urandom(60_000)).decode()
LOOKS = 30
REASON = "No space left on device"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB, half of it taken by a file that can be deleted."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        (place / "ballast").write_bytes(b"x" * 4_000_000)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextlib.contextmanager
def brokers(data_dir: Path, count: int, *arguments: str) -> Iterator[list[Serve]]:
    started: list[Serve] = []
    try:
        for _ in range(count):
            started.append(Serve("--data-dir", data_dir, "--set", "num_partitions=1", *arguments))
            assert started[-1].ready
        yield started
    finally:
        for each in started:
            each.clean_up()


def get(serve: Serve, path: str) -> httpx.Response:
    return httpx.get(f"{serve.urls[0]}{path}", timeout=30, trust_env=False)


def produce(serve: Serve, text: str) -> httpx.Response:
    body = {"records": [{"text": text}]}
    return httpx.post(f"{serve.urls[0]}/v1/topics/t/records", json=body, timeout=30, trust_env=False)


def produce_by_kafka(serve: Serve, text: str, timeout_ms: int) -> int:
    """The offset.  Raises KafkaError when the client gives up, after that time."""

    async def send() -> int:
        address = serve.field("kafka")
        async with AIOKafkaProducer(bootstrap_servers=address, request_timeout_ms=timeout_ms) as producer:
            placed = await producer.send_and_wait("t", text.encode(), partition=0)
        offset: int = placed.offset
        return offset

    return asyncio.run(send())


def read_by_kafka(serve: Serve, count: int) -> dict[int, str]:
    async def read() -> dict[int, str]:
        found: dict[int, str] = {}
        async with AIOKafkaConsumer(bootstrap_servers=serve.field("kafka")) as consumer, asyncio.timeout(60):
            consumer.assign([TopicPartition("t", 0)])
            consumer.seek(TopicPartition("t", 0), 0)
            while len(found) < count:
                message = await consumer.getone()
                found[message.offset] = message.value.decode()
        return found

    return asyncio.run(read())


def says(serve: Serve, status: int, words: str = "") -> bool:
    answer = get(serve, "/readyz")
    return answer.status_code == status and words in answer.text


@pytest.mark.parametrize(
    ("count", "durability"),
    [
        (2, "disk"),
        pytest.param(1, "process", marks=pytest.mark.full),
        pytest.param(1, "disk", marks=pytest.mark.full),
        pytest.param(2, "process", marks=pytest.mark.full),
    ],
)
def test_every_broker_reports_a_full_disk_and_no_acknowledged_record_is_lost(
    small_disk: Path, count: int, durability: str
) -> None:
    data_dir = small_disk / "data"
    kept: dict[int, str] = {}
    with brokers(data_dir, count, "--durability", durability) as serving:
        first, last = serving[0], serving[-1]
        # Given brokers that acknowledge until the disk is full
        refused: httpx.Response | None = None
        for number in range(200):
            text = f"{number} {CHUNK}"
            answer = produce(serving[number % count], text)
            if answer.status_code != 200:
                refused = answer
                break
            kept[answer.json()["results"][0]["base_offset"]] = text
        assert refused is not None
        assert refused.status_code >= 500
        # Then every broker names the cause, and refuses writes at once at both doors
        for each in serving:
            eventually(lambda each=each: says(each, 503, REASON))  # type: ignore[misc]
        for each in serving:
            began_s = time.monotonic()
            answer = produce(each, "x")
            assert time.monotonic() - began_s < 10
            assert (answer.status_code, answer.json()["code"]) == (503, "redis_unfit")
            assert REASON in answer.json()["detail"]
        with pytest.raises(KafkaError):
            produce_by_kafka(last, "x", 3_000)
        # and the server is not started again and again
        pids = set()
        for _ in range(LOOKS):
            pids.add(running_pid(data_dir))
            time.sleep(0.1)  # a server that restarts several times a second would show that many process ids
        assert len(pids - {None}) <= 2
        # When there is room again, all goes on by itself, and nothing was lost or given out twice
        (small_disk / "ballast").unlink()
        for each in serving:
            eventually(lambda each=each: says(each, 200), within_s=60)  # type: ignore[misc]
        offset = produce_by_kafka(first, "by Kafka", 30_000)
        assert offset not in kept
        kept[offset] = "by Kafka"
        answer = produce(last, "by REST")
        assert answer.status_code == 200, answer.text
        assert answer.json()["results"][0]["base_offset"] not in kept
        kept[answer.json()["results"][0]["base_offset"]] = "by REST"
        found: dict[int, Any] = read_by_kafka(first, max(kept) + 1)
        assert {offset: found.get(offset) for offset in kept} == kept
