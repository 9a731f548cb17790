"""The process `redis-ledger serve`: readiness, startup errors, and kills."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from redis_ledger.app.embedded_redis.server import EmbeddedServer, running_pid
from redis_ledger.app.process import python, redis_url
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.redis_check import checked
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.store.checks import UnsuitableRedis
from redis_ledger.store.store import Store
from tests.integration.conftest import Keep
from tests.support.kafka_codec import read_response, request
from tests.support.processes import ROOT, RedisServer, Serve, eventually, is_alive, produce, texts
from tests.support.refusals import refusal, refused

SUITABLE = ("appendonly yes", "appendfsync no")


def test_it_says_ready_once_serves_and_exits_0_on_sigterm_with_its_server_stopped(
    processes: Keep[Serve], tmp_path: Path
) -> None:
    serve = processes(Serve("--data-dir", tmp_path / "data"))
    assert (
        serve.ready
        == f"ready http={serve.urls[0]} kafka={serve.field('kafka')} redis=unix://{tmp_path}/data/redis.sock"
    )
    produce(serve, "kept")
    serve.process.send_signal(signal.SIGTERM)
    output, errors = serve.process.communicate(timeout=20)
    assert (serve.process.returncode, output, errors) == (0, "", "")
    assert running_pid(tmp_path / "data") is None
    # And the next one finds what was written
    assert texts(processes(Serve("--data-dir", tmp_path / "data"))) == ["kept"]


def advertised_address(address: str) -> tuple[str, int]:
    """The broker's address in its reply to Metadata."""
    host, _, port = address.rpartition(":")
    asked = b"".join(request(3, 12, 1, None, MetadataRequest([])))
    with socket.create_connection((host, int(port)), timeout=20) as link:
        link.sendall(asked)
        size = int.from_bytes(link.recv(4, socket.MSG_WAITALL), "big")
        _, answer = read_response(3, 12, memoryview(link.recv(size, socket.MSG_WAITALL)))
    (node,) = answer.brokers
    return node.host, node.port


@pytest.mark.full
def test_kafka_clients_get_the_bound_or_the_advertised_address(processes: Keep[Serve], tmp_path: Path) -> None:
    bound = processes(Serve("--data-dir", tmp_path / "bound")).field("kafka")
    assert advertised_address(bound) == ("127.0.0.1", int(bound.rpartition(":")[2]))
    elsewhere = ("--kafka", "127.0.0.1:0", "--kafka-advertised", "broker.example:9092")
    advertised = processes(Serve("--data-dir", tmp_path / "advertised", *elsewhere)).field("kafka")
    assert advertised_address(advertised) == ("broker.example", 9092)


@pytest.mark.full
def test_broker_without_a_kafka_port_is_not_in_metadata(processes: Keep[Serve], tmp_path: Path) -> None:
    first = processes(Serve("--data-dir", tmp_path / "data", "--kafka", "off"))
    assert first.field("kafka") == "off"
    second = processes(Serve("--data-dir", tmp_path / "data")).field("kafka")
    assert advertised_address(second) == ("127.0.0.1", int(second.rpartition(":")[2]))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (("maxmemory-policy allkeys-lru", *SUITABLE), "CONFIG SET maxmemory-policy noeviction"),
        (("appendonly no",), "appendonly no"),
        (("appendonly yes", "appendfsync everysec"), "--durability lossy"),
        (("appendonly yes", "appendfsync no"), "--durability process"),
        (
            ("replicaof 127.0.0.1 1", "replica-serve-stale-data yes", "appendonly yes", "appendfsync always"),
            "read-only replica of 127.0.0.1:1",
        ),
    ],
)
async def test_a_redis_that_cannot_keep_the_promise_is_refused(
    processes_redis: Keep[RedisServer], tmp_path: Path, settings: tuple[str, ...], says: str
) -> None:
    redis = processes_redis(RedisServer(tmp_path / "redis", settings))
    store = await Store.open(redis.url, prefix="t")
    with pytest.raises(UnsuitableRedis) as refused:
        await checked(store, "disk", None)
    await store.close()
    assert says in str(refused.value)


def test_a_broker_does_not_start_on_a_redis_that_cannot_keep_the_promise(
    processes: Keep[Serve], processes_redis: Keep[RedisServer], tmp_path: Path
) -> None:
    redis = processes_redis(RedisServer(tmp_path / "redis", ("maxmemory-policy allkeys-lru", *SUITABLE)))
    said = refusal(processes(Serve("--redis", redis.url, "--durability", "disk")))
    assert "CONFIG SET maxmemory-policy noeviction" in said
    assert "--durability process" in said


@pytest.fixture
def processes_redis(processes: Keep[RedisServer]) -> Keep[RedisServer]:
    return processes


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (("--durability", "lossy"), {}),
        pytest.param((), {"REDIS_LEDGER_DURABILITY": "lossy"}, marks=pytest.mark.full),
    ],
)
def test_losses_may_be_accepted_by_name(
    processes: Keep[Serve],
    processes_redis: Keep[RedisServer],
    tmp_path: Path,
    arguments: tuple[str, ...],
    environ: dict[str, str],
) -> None:
    redis = processes_redis(RedisServer(tmp_path / "redis", ("appendonly no",)))
    serve = processes(Serve(*arguments, environ={"REDIS_LEDGER_REDIS_URL": redis.url, **environ}))
    assert serve.field("redis") == redis.url
    assert serve.call("GET", "/readyz")["durability"] == "lossy"
    assert serve.terminate() == 0


async def test_a_redis_that_is_not_there_is_refused_and_its_password_not_shown() -> None:
    with pytest.raises(CommandError) as refused:
        await redis_url.opened("redis://me:secret@127.0.0.1:1", prefix="t", timeout_ms=1_000, retry_ms=200)
    said = str(refused.value)
    assert said.startswith("Redis at 127.0.0.1:1 cannot be used: ")
    assert said.endswith(". Start it, or correct the Redis URL.")
    assert "secret" not in said


@pytest.mark.parametrize("brokers", [1, pytest.param(2, marks=pytest.mark.full)])
def test_the_url_of_redis_may_be_in_a_file_and_then_it_is_in_no_environment(
    processes: Keep[Serve], processes_redis: Keep[RedisServer], tmp_path: Path, brokers: int
) -> None:
    # Given a Redis whose URL is in a file
    redis = processes_redis(RedisServer(tmp_path / "redis", ("appendonly no",)))
    file = tmp_path / "url"
    file.write_text(f"{redis.url}\n")
    # When it is served from there
    arguments = ("--durability", "lossy", "--brokers", str(brokers))
    serve = processes(Serve(*arguments, environ={"REDIS_LEDGER_REDIS_URL_FILE": str(file)}))
    # Then brokers serve, and neither they nor their supervisor have it in arguments or environment
    assert serve.call("GET", "/readyz")["durability"] == "lossy"
    children = Path(f"/proc/{serve.process.pid}/task/{serve.process.pid}/children").read_text().split()
    assert len(children) == (0 if brokers == 1 else brokers)
    for pid in (str(serve.process.pid), *children):
        process_text = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert str(file).encode() in process_text
        assert redis.url.encode() not in process_text
    assert serve.terminate() == 0


@pytest.mark.full
def test_a_url_on_the_command_line_wins_over_a_file_in_every_process(
    processes: Keep[Serve], processes_redis: Keep[RedisServer], tmp_path: Path
) -> None:
    redis = processes_redis(RedisServer(tmp_path / "redis", ("appendonly no",)))
    absent = {"REDIS_LEDGER_REDIS_URL_FILE": str(tmp_path / "absent")}
    arguments = ("--durability", "lossy", "--brokers", "2", "--redis", redis.url)
    assert processes(Serve(*arguments, environ=absent)).field("redis") == redis.url


def test_a_file_without_a_url_is_refused(tmp_path: Path) -> None:
    absent = {"REDIS_LEDGER_REDIS_URL_FILE": str(tmp_path / "absent")}
    assert "absent, which cannot be read (No such file" in refused("--redis", "", **absent)


def test_an_old_server_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0:0 malloc=libc bits=64 build=0'\n")
    old.chmod(0o755)
    with pytest.raises(CommandError, match=r"version 6\.2\.14, which is older than 7\.0"):
        EmbeddedServer.attach(tmp_path / "d", "disk", {"REDIS_LEDGER_SERVER_BIN": str(old)})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--http", "8080"), "is not HOST:PORT"),
        (("--http", "192.0.2.1:80", "--allow-anonymous"), "no such address"),
        (("--http", "0.0.0.0:0"), "--allow-anonymous"),
        (("--http", "[::]:0"), "authentication is disabled"),
        (("--kafka", "0.0.0.0:0"), "Other machines can reach --kafka 0.0.0.0:0"),
        (("--set", "num_partitions=many"), "not an integer"),
        (("--set", "nonsense=1"), "not a setting"),
        (("--set", "nonsense"), "not NAME=VALUE"),
        (("--offload-home", "nonsense://x"), "neither an absolute path nor a known URI"),
    ],
)
def test_invalid_values_are_refused(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(*arguments)


async def test_a_url_that_is_not_of_redis_is_refused() -> None:
    with pytest.raises(CommandError, match="not a Redis scheme"):
        await redis_url.opened("http://127.0.0.1", prefix="t", timeout_ms=100, retry_ms=0)


@pytest.mark.parametrize(
    ("folder", "says"), [(ROOT, "neither empty nor a data directory"), (Path("/proc/none"), "cannot be used")]
)
def test_unusable_data_directories_are_refused(folder: Path, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        EmbeddedServer.attach(folder, "disk", os.environ)


@pytest.mark.parametrize("arguments", [("--kafka", "8080"), ("--data-dir", str(ROOT))], ids=["before", "at the start"])
def test_a_refusal_is_all_that_the_process_prints(processes: Keep[Serve], arguments: tuple[str, ...]) -> None:
    assert refusal(processes(Serve(*arguments)))


def test_serve_without_pyarrow_fails_before_starting_anything(processes: Keep[Serve], tmp_path: Path) -> None:
    # Given a Python without pyarrow
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "pyarrow.py").write_text("raise ImportError('it is not here')")
    lacking = {"PYTHONPATH": str(tmp_path / "lacking")}
    # When a broker is given a home, by its option or by the environment, then it is refused, and not at the first read
    asked = ("--data-dir", tmp_path / "data")
    for given in (
        Serve(*asked, "--offload-home", tmp_path / "history", environ=lacking),
        Serve(*asked, environ={**lacking, "REDIS_LEDGER_OFFLOAD_HOME": str(tmp_path / "history")}),
    ):
        assert "pip install '.[offload]'" in refusal(processes(given))
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "words", [("--allow-anonymous",), pytest.param(("--set", "auth_required=yes"), marks=pytest.mark.full)]
)
def test_other_machines_reach_an_open_or_authenticating_broker(
    processes: Keep[Serve], tmp_path: Path, words: tuple[str, ...]
) -> None:
    serve = processes(Serve("--data-dir", tmp_path / "data", "--kafka", "off", *words, http="0.0.0.0:0"))
    assert serve.ready.startswith("ready http=http://0.0.0.0:")


def test_a_port_in_use_is_refused_before_anything_is_started(processes: Keep[Serve], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        http = f"127.0.0.1:{taken.getsockname()[1]}"
        assert "it is in use" in refusal(processes(Serve("--data-dir", tmp_path / "data", http=http)))
    assert not (tmp_path / "data").exists()


def test_several_brokers_are_one_command(processes: Keep[Serve], tmp_path: Path) -> None:
    # Given two brokers
    serve = processes(Serve("--data-dir", tmp_path / "data", "--brokers", "2"))
    one, two = serve.urls
    produce(serve, "shared")
    # When one of them is killed, the other serves, and the killed one comes back where it was
    os.kill(broker_pid(two), signal.SIGKILL)
    assert texts(serve) == ["shared"]
    eventually(lambda: is_alive(two))
    # And SIGTERM ends them all, and the server
    assert serve.terminate() == 0
    assert not is_alive(one)
    assert not is_alive(two)
    assert running_pid(tmp_path / "data") is None


@pytest.mark.full
def test_every_broker_of_a_command_has_the_same_home_for_history(processes: Keep[Serve], tmp_path: Path) -> None:
    serve = processes(Serve("--data-dir", tmp_path / "data", "--brokers", "2", "--offload-home", "my history"))
    produce(serve, "one")
    homes = [httpx.get(f"{url}/v1/topics/t/cold", trust_env=False).json()["home"] for url in serve.urls]
    assert homes == [str(ROOT / "my history")] * 2


def test_a_users_own_app_in_the_current_directory_is_not_mistaken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    started = subprocess.run(
        [*python.command("redis_ledger.app.cli.main"), "--help"],
        env=python.environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (started.returncode, started.stderr) == (0, "")


@pytest.mark.full
def test_a_long_poll_does_not_hold_up_the_drain(processes: Keep[Serve], tmp_path: Path) -> None:
    # Given a reader that waits for records for up to twenty seconds
    serve = processes(Serve("--data-dir", tmp_path / "data"))
    produce(serve, "one")
    reader = HTTPConnection(serve.urls[0].removeprefix("http://"), timeout=60)
    reader.request("GET", "/livez")  # the broker has accepted the connection when it has answered
    assert reader.getresponse().read()
    reader.request("GET", "/v1/topics/t/partitions/0/records?offset=1&wait_ms=20000")
    time.sleep(0.3)  # until it waits; an answer that came earlier would only make this test weaker
    # When the broker is stopped
    began_s = time.monotonic()
    assert serve.terminate() == 0
    # Then it does, and the reader gets an answer and not a broken connection
    assert time.monotonic() - began_s < 15
    assert reader.getresponse().status in (200, 503)
    reader.close()


def broker_pid(url: str) -> int:
    """A broker's name ends with its process id and a random part."""
    name: str = httpx.get(f"{url}/readyz", trust_env=False).json()["broker"]
    return int(name.split("-")[-2])
