"""`serve` and `doctor` with --durability replicas, as processes on a primary with two replicas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from redis_ledger.app.process.redis_check import at_level, copies_required
from redis_ledger.config import Config
from redis_ledger.store.copies import CopiesRequired
from tests.support import cli
from tests.support.processes import Serve, eventually
from tests.support.redis_servers import redis_server, replicated

LEVEL = ("--durability", "replicas")
Keep = Callable[[Serve], Serve]


@pytest.fixture
def processes() -> Iterator[Keep]:
    started: list[Serve] = []

    def keep(process: Serve) -> Serve:
        started.append(process)
        return process

    yield keep
    for process in started:
        process.clean_up()


def findings(*words: object) -> list[dict[str, Any]]:
    ended = cli.run("doctor", "--json", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", *LEVEL, *words)
    found: list[dict[str, Any]] = json.loads(ended.out)
    return found


def test_a_broker_serves_while_enough_copies_are_in_sync(processes: Keep) -> None:
    with replicated(2) as (primary, *replicas):
        broker = processes(Serve("--redis", primary.url, *LEVEL, "--set", "min_insync_replicas=3"))
        ready = broker.call("GET", "/readyz")
        assert (ready["durability"], ready["min_insync_replicas"]) == ("replicas", 3)
        body = {"records": [{"value": "a"}]}
        broker.call("POST", "/v1/topics/t/records", body)
        assert [each.ask("HGET", "rl:{t:0}:state", "next") for each in replicas] == [b"1", b"1"]
        # When a replica is gone, then requests are refused before they are sent
        replicas[0].kill()
        eventually(lambda: httpx.get(f"{broker.urls[0]}/readyz").status_code == 503)
        answer = httpx.post(f"{broker.urls[0]}/v1/topics/t/records", json=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "too_few_replicas")
        assert primary.ask("HGET", "rl:{t:0}:state", "next") == b"1"
        # When it is back, then the broker goes on by itself
        replicas[0].start()
        eventually(lambda: httpx.get(f"{broker.urls[0]}/readyz").status_code == 200)
        broker.call("POST", "/v1/topics/t/records", body)
        assert broker.terminate() == 0


@pytest.mark.full
def test_a_redis_without_enough_replicas_is_refused(processes: Keep) -> None:
    with redis_server(appendonly="yes", appendfsync="no") as alone:
        code, errors = processes(Serve("--redis", alone.url, *LEVEL)).end()
        assert code == 2
        assert "has 0 of the 1 in-sync replicas that durability replicas requires (min_insync_replicas 2)" in errors


def test_the_embedded_server_has_no_replicas(processes: Keep, tmp_path: Any) -> None:
    code, errors = processes(Serve("--data-dir", tmp_path / "d", *LEVEL)).end()
    assert code == 2
    assert "needs a Redis with replicas, and the embedded server has none" in errors
    (found,) = [each for each in findings("--data-dir", tmp_path / "d") if each["level"] == "problem"]
    assert "the embedded server has none" in found["seen"] + found["cure"]


def test_doctor_warns_of_copies_that_may_be_elected_without_a_confirmation() -> None:
    with replicated(2) as (primary, *_):
        warned = [each["seen"] for each in findings("--redis", primary.url) if each["level"] == "warning"]
        assert any("2 replicas, and answers wait for 1 of them" in each for each in warned)
        assert any("min-replicas-to-write 0" in each for each in warned)
        three = findings("--redis", primary.url, "--set", "min_insync_replicas=3")
        assert not [each for each in three if "answers wait for" in each["seen"]]


def test_the_level_has_at_least_one_replica_and_others_have_none() -> None:
    for given, level, copies in ((1, "replicas", 2), (3, "replicas", 3), (3, "disk", None)):
        config = at_level(Config(min_insync_replicas=given), level)  # type: ignore[arg-type]
        expected = None if copies is None else CopiesRequired(copies, 5_000)
        assert copies_required(config, level) == expected  # type: ignore[arg-type]
