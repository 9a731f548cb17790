"""A data directory of `redis-ledger serve`: its server stops with the last broker, and outlives one that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis.server import running_pid
from tests.integration.conftest import Keep
from tests.support.processes import Serve, eventually, is_alive, kill_server, produce, texts
from tests.support.refusals import refusal


def test_after_kill_9_of_the_broker_the_next_one_takes_the_server_over(processes: Keep[Serve], tmp_path: Path) -> None:
    # Given a broker that has acknowledged a record and is killed
    first = processes(Serve("--data-dir", tmp_path / "data"))
    produce(first, "kept")
    server = running_pid(tmp_path / "data")
    first.kill()
    assert running_pid(tmp_path / "data") == server
    # When another one is started on the directory, it uses the very server, and stops it in the end
    second = processes(Serve("--data-dir", tmp_path / "data"))
    assert texts(second) == ["kept"]
    assert running_pid(tmp_path / "data") == server
    assert second.terminate() == 0
    assert running_pid(tmp_path / "data") is None


@pytest.mark.full
def test_after_kill_9_of_both_the_next_one_starts_a_server_on_the_data(processes: Keep[Serve], tmp_path: Path) -> None:
    first = processes(Serve("--data-dir", tmp_path / "data"))
    produce(first, "kept")
    first.kill()
    kill_server(tmp_path / "data")
    assert texts(processes(Serve("--data-dir", tmp_path / "data"))) == ["kept"]


@pytest.mark.full
def test_a_second_broker_on_a_data_directory_joins_it(processes: Keep[Serve], tmp_path: Path) -> None:
    first = processes(Serve("--data-dir", tmp_path / "data"))
    produce(first, "shared")
    second = processes(Serve("--data-dir", tmp_path / "data"))
    assert texts(second) == ["shared"]
    # The server stays for the remaining brokers
    assert first.terminate() == 0
    assert texts(second) == ["shared"]
    # And a broker with another durability setting is refused with a hint how to join
    third = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    assert "in use with durability disk" in refusal(processes(third))


def test_a_killed_embedded_server_is_restarted_and_nothing_acknowledged_is_lost(
    processes: Keep[Serve], tmp_path: Path
) -> None:
    serve = processes(Serve("--data-dir", tmp_path / "data"))
    produce(serve, "before")
    killed = kill_server(tmp_path / "data")
    eventually(lambda: running_pid(tmp_path / "data") not in (None, killed), within_s=2.0)
    produce(serve, "after")
    assert texts(serve) == ["before", "after"]
    assert serve.terminate() == 0


@pytest.mark.full
def test_a_long_path_is_served_from_a_socket_elsewhere(processes: Keep[Serve], tmp_path: Path) -> None:
    data_dir = tmp_path / ("x" * 60) / ("y" * 60)
    serve = processes(Serve("--data-dir", data_dir))
    assert serve.field("redis") == f"unix://{(data_dir / 'socket-path').read_text().strip()}"
    produce(serve, "kept")
    assert serve.terminate() == 0


@pytest.mark.full
def test_a_killed_supervisor_leaves_no_broker_behind(processes: Keep[Serve], tmp_path: Path) -> None:
    serve = processes(Serve("--data-dir", tmp_path / "data", "--brokers", "2"))
    one, two = serve.urls
    serve.process.kill()
    eventually(lambda: not is_alive(one) and not is_alive(two))
    eventually(lambda: running_pid(tmp_path / "data") is None)
    assert list((tmp_path / "data" / "brokers").iterdir()) == []
