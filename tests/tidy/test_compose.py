"""compose.yaml fits the image: variables are read, ports served, secrets made as docs/howto/container.md says."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from typing import Any

import yaml

from redis_ledger.app.process.doctor import OF_COMMANDS
from redis_ledger.config import Config
from tests.image import dockerfile
from tests.support.doc_pages import blocks
from tests.tidy.tree import ROOT

PAGE = ROOT / "docs" / "howto" / "container.md"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
LEDGER = SERVICES["ledger"]
FINAL = dockerfile.stages((ROOT / "Dockerfile").read_text())[-1]
# What the Compose specification has, of which we use some.
OF_A_FILE = {"services", "secrets", "volumes"}
OF_A_SERVICE = {
    *("build", "image", "command", "environment", "secrets", "ports", "volumes", "depends_on", "healthcheck"),
    *("read_only", "tmpfs", "cap_drop", "security_opt", "stop_grace_period", "restart"),
}


def test_every_word_is_one_of_composes():
    assert COMPOSE.keys() == OF_A_FILE
    assert {word for service in SERVICES.values() for word in service} - OF_A_SERVICE == set()


def test_what_a_service_names_is_declared():
    for name, service in SERVICES.items():
        assert set(service.get("secrets", [])) - COMPOSE["secrets"].keys() == set(), name
        assert {each.partition(":")[0] for each in service.get("volumes", [])} - COMPOSE["volumes"].keys() == set(), (
            name
        )
        assert service.get("depends_on", {}).keys() - SERVICES.keys() == set(), name


def test_variables_of_compose_file_and_page_are_read_and_secrets_are_mounted():
    known = {*OF_COMMANDS, *(field.name.upper() for field in dataclasses.fields(Config))}
    env = {name: value for each in FINAL.all("ENV") for name, value in each.pairs({}).items()}
    named = {*LEDGER["environment"], *env, *re.findall(r"REDIS_LEDGER_\w+", PAGE.read_text())}
    ours = {name.removeprefix("REDIS_LEDGER_") for name in named if name.startswith("REDIS_LEDGER_")}
    assert ours - known == set()
    files = {value for value in LEDGER["environment"].values() if value.startswith("/run/secrets/")}
    assert files == {f"/run/secrets/{name}" for name in LEDGER["secrets"]}
    assert not any(name.endswith(("_URL", "PASSWORD", "TOKEN")) for name in LEDGER["environment"])


def test_ports_are_those_of_the_image_and_published_on_this_machine_only():
    published = [each.rpartition(":") for each in LEDGER["ports"]]
    assert [inside for _, _, inside in published] == FINAL.last("EXPOSE").value.split()
    assert all(where.startswith("127.0.0.1:") for where, _, _ in published)
    assert "ports" not in SERVICES["redis"]


def test_a_broker_is_run_as_carefully_as_the_page_says_and_has_time_to_drain():
    assert LEDGER["read_only"] is True
    assert (LEDGER["tmpfs"], LEDGER["cap_drop"]) == (["/tmp"], ["ALL"])
    assert LEDGER["security_opt"] == ["no-new-privileges:true"]
    assert int(LEDGER["stop_grace_period"].removesuffix("s")) > 20
    assert LEDGER["command"][0] == "serve"


def test_the_pages_commands_make_the_secrets(tmp_path):
    # Given the commands of the page, in an empty folder
    (commands,) = blocks(PAGE, "bash")
    subprocess.run(["bash", "-eu", "-c", commands], cwd=tmp_path, check=True)
    # Then every secret of the compose file exists and can be read, in a folder that is closed to other users
    made = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {f"./{name}" for name in made} == {each["file"] for each in COMPOSE["secrets"].values()}
    assert {path.stat().st_mode & 0o777 for path in made.values()} == {0o644}
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    # And both sides of Redis have the same password, and Redis keeps what brokers promise
    password = re.fullmatch(r"redis://:([0-9a-f]{48})@redis:6379\n", made["secrets/redis_url"].read_text())
    assert password is not None
    lines = made["secrets/redis_conf"].read_text().splitlines()
    assert {"appendonly yes", "appendfsync always", "maxmemory-policy noeviction"} <= set(lines)
    assert f"requirepass {password[1]}" in lines
    assert len(made["secrets/admin_token"].read_text()) == 64
