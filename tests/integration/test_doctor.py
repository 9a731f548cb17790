"""`redis-ledger doctor` reports problems with their remedies, and changes nothing."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from redis_ledger.app.cli.main import app
from tests.support.processes import RedisServer, Serve


@pytest.fixture
def suitable(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis", ("appendonly yes", "appendfsync always"))
    yield server
    server.clean_up()


def doctor(*arguments: str | Path, **environ: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Exit code, and findings by subject."""
    ran = CliRunner().invoke(
        app,
        ["doctor", "--json", "--kafka", "127.0.0.1:0", *map(str, arguments)],
        env={"PATH": "/usr/bin:/bin", **environ},
    )
    findings: dict[str, list[dict[str, Any]]] = {}
    for each in json.loads(ran.stdout):
        findings.setdefault(each["subject"], []).append(each)
    return ran.exit_code, findings


def problems(findings: dict[str, list[dict[str, Any]]]) -> list[tuple[str, str, str]]:
    return [
        (each["subject"], each["seen"], each["cure"])
        for of_subject in findings.values()
        for each in of_subject
        if each["level"] == "problem"
    ]


def test_a_fresh_machine_is_fine_and_stays_as_it_was(tmp_path: Path) -> None:
    code, findings = doctor("--data-dir", tmp_path / "data", "--http", "127.0.0.1:0")
    assert (code, problems(findings)) == (0, [])
    assert findings["server binary"][0]["level"] == "fine"
    assert not (tmp_path / "data").exists()


def test_every_kafka_listener_and_its_advertised_address_are_checked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        two = f"internal://127.0.0.1:0,external://127.0.0.1:{taken.getsockname()[1]}"
        code, findings = doctor("--data-dir", tmp_path / "data", "--http", "127.0.0.1:0", "--kafka", two)
    assert code == 1
    assert [each["level"] for each in findings["kafka"]] == ["fine", "problem"]
    assert "it is in use" in findings["kafka"][1]["seen"]
    environment = {"REDIS_LEDGER_KAFKA_ADVERTISED": "outside://ledger.example:9094"}
    _, findings = doctor("--data-dir", tmp_path / "data", "--http", "127.0.0.1:0", "--kafka", two, **environment)
    assert "has outside, which is not in --kafka" in findings["kafka"][0]["seen"]


def test_a_running_broker_is_recognized(tmp_path: Path) -> None:
    serve = Serve("--data-dir", tmp_path / "data", "--durability", "process")
    try:
        asked = ("--data-dir", tmp_path / "data", "--http", serve.urls[0].removeprefix("http://"))
        assert doctor(*asked, "--durability", "process")[0] == 0
        code, findings = doctor(*asked)
    finally:
        serve.terminate()
    assert code == 1  # serve would refuse this level too
    assert "in use by a broker of this cluster" in findings["http"][0]["seen"]
    assert "the embedded server is running" in findings["redis"][0]["seen"]
    assert "--durability process" in findings["durability"][0]["cure"]


def test_a_suitable_redis_is_fine(suitable: RedisServer) -> None:
    code, findings = doctor("--redis", suitable.url, "--http", "127.0.0.1:0")
    assert (code, problems(findings)) == (0, [])
    assert findings["durability"][0]["seen"] == "disk"


def test_a_redis_that_evicts_is_a_problem_with_its_cure(tmp_path: Path) -> None:
    server = RedisServer(tmp_path / "redis", ("appendonly yes", "appendfsync always", "maxmemory-policy allkeys-lru"))
    try:
        code, findings = doctor("--redis", server.url, "--http", "127.0.0.1:0")
    finally:
        server.clean_up()
    [(subject, seen, cure)] = problems(findings)
    assert (code, subject) == (1, "redis")
    assert "may evict acknowledged records" in seen
    assert "run CONFIG SET maxmemory-policy noeviction and then CONFIG REWRITE" in cure


@pytest.mark.parametrize(
    ("arguments", "environ", "subject"),
    [
        (("--redis", "redis://127.0.0.1:1"), {}, "redis"),
        (("--redis", "nonsense"), {}, "redis"),
        (("--data-dir", "/"), {}, "data directory"),
        (("--http", "nowhere"), {}, "http"),
        (("--http", "0.0.0.0:0"), {}, "http"),
        ((), {"REDIS_LEDGER_NUM_PARTITIONS": "many"}, "settings"),
        (("--set", "num_partitions=many"), {}, "settings"),
        ((), {"REDIS_LEDGER_REDIS_URL_FILE": "/none"}, "redis"),
        ((), {"REDIS_LEDGER_SERVER_BIN": "/none"}, "server binary"),
    ],
)
def test_each_problem_has_a_cure(
    tmp_path: Path, arguments: tuple[str, ...], environ: dict[str, str], subject: str
) -> None:
    code, findings = doctor("--http", "127.0.0.1:0", "--data-dir", tmp_path / "data", *arguments, **environ)
    assert code == 1
    assert [problem[0] for problem in problems(findings)] == [subject]
    assert all(cure for _, _, cure in problems(findings))


@pytest.mark.parametrize("words", [("--set", "auth_required=yes"), ("--allow-anonymous",)])
def test_it_is_given_the_options_of_serve_that_let_others_in(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, findings = doctor("--http", "0.0.0.0:0", "--data-dir", tmp_path / "data", *words)
    assert (code, problems(findings)) == (0, [])
    assert findings["settings"][0]["seen"] in ("changed: auth_required", "defaults")


@pytest.mark.parametrize("name", ["URL", "IMPORT_REDIS_URL", "TOKEN_FILE", "SERVICE_HOST"])
def test_a_variable_that_is_none_of_its_business_is_not_pointed_out(tmp_path: Path, name: str) -> None:
    variable = {f"REDIS_LEDGER_{name}": "redis://old"}
    _, findings = doctor("--http", "127.0.0.1:0", "--data-dir", tmp_path / "data", **variable)
    assert [each["level"] for each in findings["settings"]] == ["fine"]


def test_a_misspelt_setting_is_pointed_out(tmp_path: Path) -> None:
    code, findings = doctor("--http", "127.0.0.1:0", "--data-dir", tmp_path / "data", REDIS_LEDGER_NUM_PARTITION="4")
    assert code == 0
    assert "REDIS_LEDGER_NUM_PARTITIONS" in findings["settings"][0]["cure"]


def test_dd_63_a_setting_without_effect_is_pointed_out(tmp_path: Path) -> None:
    idle = {"REDIS_LEDGER_delayedDeliveryFixedDelayDetectionLookahead": "0"}
    code, findings = doctor("--http", "127.0.0.1:0", "--data-dir", tmp_path / "data", **idle)
    assert code == 0
    found = findings["settings"][0]
    assert (found["level"], "has no effect" in found["seen"]) == ("warning", True)


# -- the home of history in Parquet -----------------------------------------------------------------------------------


def home_seen(tmp_path: Path, *arguments: str | Path, **environ: str) -> tuple[int, list[dict[str, Any]]]:
    code, findings = doctor("--http", "127.0.0.1:0", "--data-dir", tmp_path / "data", *arguments, **environ)
    return code, findings.get("offload home", [])


def test_a_home_that_can_be_read_and_written_is_fine_and_stays_as_it_was(tmp_path: Path) -> None:
    home = tmp_path / "history"
    (home / "orders").mkdir(parents=True)
    code, [found] = home_seen(tmp_path, "--offload-home", home)
    assert (code, found["level"], found["seen"]) == (0, "fine", f"{home} is readable and writable")
    assert [path.name for path in home.rglob("*")] == ["orders"]
    assert home_seen(tmp_path, REDIS_LEDGER_OFFLOAD_HOME=str(home))[1] == [found]
    assert home_seen(tmp_path) == (0, [])


def test_a_home_that_is_not_there_is_a_warning_and_is_not_made(tmp_path: Path) -> None:
    code, [found] = home_seen(tmp_path, "--offload-home", tmp_path / "history")
    assert (code, found["level"], found["seen"]) == (0, "warning", f"{tmp_path / 'history'} does not exist")
    assert not (tmp_path / "history").exists()


def test_a_home_that_can_be_read_only_is_a_warning_for_brokers_delete_there(tmp_path: Path) -> None:
    code, [found] = home_seen(tmp_path, "--offload-home", "/proc")
    assert (code, found["level"]) == (0, "warning")
    assert found["seen"].startswith("/proc is not writable: ")


def test_a_home_that_is_no_folder_or_of_no_known_kind_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home, says in ((tmp_path / "file", "cannot be read"), ("nonsense://x", "nor a known URI")):
        code, [found] = home_seen(tmp_path, "--offload-home", home)
        assert (code, found["level"], bool(found["cure"])) == (1, "problem", True)
        assert says in found["seen"].replace("neither an absolute path nor", "nor")


def test_offload_home_without_pyarrow_is_a_problem_with_install_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "redis_ledger.offload.object_store", raising=False)
    code, [found] = home_seen(tmp_path, "--offload-home", tmp_path)
    assert (code, found["level"]) == (1, "problem")
    assert found["seen"].endswith("pip install '.[offload]' in a checkout")


def test_for_people_it_is_a_table(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        app, ["doctor", "--data-dir", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
    )
    assert ran.exit_code == 0
    assert "action" in ran.stdout
    assert "server binary" in ran.stdout
