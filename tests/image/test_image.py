"""The container image, built by the steps of the Dockerfile and run with a read-only root: `scripts/check.py image`.

It needs root, for chroot and mounts, and debootstrap; no container engine.  What stands for the base image is said in
tests/image/base.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bench import figures
from tests.image.box import Container
from tests.image.build import Image, build
from tests.support.processes import ROOT, RedisServer, eventually

pytestmark = pytest.mark.timeout(1200)  # the first test waits for debootstrap and the build
READY_S_GOAL = 2.0
UID = 10001
# Reached from inside the container only, so without authentication.
ALONE = {"REDIS_LEDGER_AUTH_REQUIRED": "false", "REDIS_LEDGER_HTTP": "127.0.0.1:8080", "REDIS_LEDGER_KAFKA": "off"}
STATUS = """
import sys, urllib.error, urllib.request
url, *token = sys.argv[1:]
headers = {"Authorization": f"Bearer {token[0]}"} if token else {}
try:
    print(urllib.request.urlopen(urllib.request.Request(url, headers=headers)).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""
Run = Callable[..., Container]


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    assert os.geteuid() == 0, "scripts/check.py image needs root, for chroot and mounts"
    missing = [name for name in ("debootstrap", "unshare", "nsenter", "ip") if shutil.which(name) is None]
    assert missing == [], f"the image step needs {missing}. On Debian: apt install debootstrap util-linux iproute2"
    place = tmp_path_factory.mktemp("image")
    yield build(ROOT, place)
    shutil.rmtree(place)


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """As Docker makes a new volume: with the owner and mode that the image's folder has."""
    place = tmp_path / "volume"
    place.mkdir(mode=0o700)
    os.chown(place, UID, UID)
    return place


@pytest.fixture
def run(image: Image) -> Iterator[Run]:
    started: list[Container] = []

    def start(*words: str, **given: object) -> Container:
        started.append(Container(image, *words, **given))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for each in started:
        each.clean_up()


def lines(container: Container, *words: str) -> list[str]:
    done = container.exec(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def note(case: str, metric: str, value: float, unit: str, goal: float | None = None) -> None:
    """A figure of `python -m bench`: one line on the terminal."""
    print(json.dumps(figures.Figure("image", case, metric, round(value, 3), unit, goal, "disk")._asdict()))


def cpu_s(container: Container) -> float:
    """Seconds of processor time process 1 has used: what a start costs, whatever else runs on this machine."""
    used = Path(f"/proc/{container.pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def test_as_it_is_it_serves_every_address_and_asks_who_calls(run, volume, capfd):
    # Given nothing but a volume
    container = run(data=volume)
    # When it is ready
    with capfd.disabled():
        print()
        note("embedded", "ready_s", container.ready_s(), "s", READY_S_GOAL)
        note("embedded", "ready_cpu_s", cpu_s(container), "s")
    # Then it is healthy, refuses clients without credentials, and ends on SIGTERM
    healthy = container.health()
    assert (healthy.returncode, healthy.stdout, healthy.stderr) == (0, "ready: http://127.0.0.1:8080\n", "")
    assert lines(container, "python", "-c", STATUS, "http://127.0.0.1:8080/v1/topics") == ["401"]
    listening = Path(f"/proc/{container.pid}/net/tcp").read_text()
    assert set(re.findall(r"00000000:([0-9A-F]{4}) 00000000:0000 0A", listening)) == {"1F90", "2384"}
    code, errors = container.stop()
    assert (code, [line for line in errors.splitlines() if '"level": "error"' in line]) == (0, [])


def test_an_open_broker_has_to_be_asked_for_by_name(run, volume):
    anonymous = {"REDIS_LEDGER_AUTH_REQUIRED": "false"}
    code, errors = run(data=volume, env=anonymous).end()
    assert code == 2
    assert "--allow-anonymous" in errors
    container = run("serve", "--allow-anonymous", data=volume, env=anonymous)
    container.ready_s()
    assert lines(container, "python", "-c", STATUS, "http://127.0.0.1:8080/v1/topics") == ["200"]


def test_it_runs_as_nobody_special_and_can_write_only_to_its_volume_and_tmp(run, volume):
    container = run(data=volume, env=ALONE)
    container.ready_s()
    status = dict(line.split(":\t", 1) for line in lines(container, "cat", "/proc/1/status"))
    assert status["Uid"].split() == [str(UID)] * 4
    assert status["Gid"].split() == [str(UID)] * 4
    for place, wanted in (("/x", 1), ("/opt/redis-ledger/x", 1), ("/run/x", 1), ("/tmp/x", 0), ("/data/x", 0)):
        assert container.exec("touch", place).returncode == wanted, place


def test_without_a_read_only_root_too_it_owns_nothing_but_its_volume(run, volume):
    container = run(data=volume, env=ALONE, mode="rw")
    container.ready_s()
    # These are mounted, or are Debian's and world-writable; find complains about what only root may read.
    apart = " -o ".join(f"-path {each}" for each in ("/data", "/tmp", "/var/tmp", "/run", "/proc", "/dev"))
    for which in (r"\( -type f -o -type d \) -writable", "-user 10001"):
        find = rf"find / \( {apart} \) -prune -o {which} -print 2> /dev/null; true"
        assert lines(container, "sh", "-c", find) == []
    tools = "for tool in gcc cc g++ c++ make ld as clang rustc; do command -v $tool; done; true"
    assert lines(container, "sh", "-c", tools) == []


def test_no_file_lends_its_owners_rights_to_whoever_runs_it(image):
    lending = stat.S_ISUID | stat.S_ISGID
    every = (Path(folder, name) for folder, _, names in os.walk(image.root) for name in names)
    assert [str(path) for path in every if not path.is_symlink() and path.stat().st_mode & lending] == []


def test_it_holds_what_the_lock_says_and_nothing_is_compiled_at_a_start(run, volume):
    container = run(data=volume, env=ALONE)
    container.ready_s()
    held = "from importlib.metadata import distributions as d\nfor x in d(): print(f'{x.name}=={x.version}'.lower())"
    found = {line.replace("_", "-") for line in lines(container, "python", "-c", held)}
    pinned = re.findall(r"^(\S+==.+?) \\$", (ROOT / "requirements" / "image.lock").read_text(), re.MULTILINE)
    asked = [each for each in map(Requirement, pinned) if each.marker is None or each.marker.evaluate()]
    locked = {f"{each.name}{each.specifier}" for each in asked}
    assert {each for each in found if not each.startswith("redis-ledger==")} == locked
    loaded = (
        "import sys, os, redis_ledger.app.process.broker_process, redis_ledger.app.cli.serve, uvloop\n"
        "from importlib.util import cache_from_source as of\n"
        + (
            "files = {getattr(each, '__file__', None) or '' for each in sys.modules.values()}\n"
            "print(len(files) > 500, [f for f in sorted(files) if f.endswith('.py') and not os.path.exists(of(f))])"
        )
    )
    assert lines(container, "python", "-c", loaded) == ["True []"]


def test_what_was_written_is_there_again_after_a_stop_and_after_a_kill(run, volume):
    ends = [Container.stop, Container.kill, Container.stop]
    for number, end in enumerate(ends, 1):
        container = run(data=volume, env=ALONE)
        container.ready_s()
        done = container.exec("sh", "-c", f"echo record-{number} | redis-ledger produce orders")
        assert done.returncode == 0, done.stderr
        read = container.exec("redis-ledger", "consume", "orders", "--max", str(number))
        assert read.returncode == 0, read.stderr
        assert sorted(re.findall(r"record-\d", read.stdout)) == [f"record-{each}" for each in range(1, number + 1)]
        end(container)


def test_a_volume_that_kubernetes_gives_to_a_group_is_good_enough(run, tmp_path):
    """Its root belongs to root, is open to fsGroup, and may hold what a fresh file system holds."""
    place = tmp_path / "volume"
    (place / "lost+found").mkdir(parents=True, mode=0o700)
    os.chown(place, 0, UID)
    place.chmod(0o2775)
    container = run(data=place, env=ALONE)
    container.ready_s()
    assert container.health().returncode == 0


def test_a_volume_that_cannot_be_written_is_refused_in_a_sentence(run, tmp_path):
    place = tmp_path / "volume"
    place.mkdir(mode=0o755)
    code, errors = run(data=place, env=ALONE).end()
    assert code == 2
    assert "The data directory /data/redis-ledger cannot be used (Permission denied)" in errors


def test_a_second_container_on_the_volume_is_refused_and_does_no_harm(run, volume):
    # Given one that runs, with a record
    first = run(data=volume, env=ALONE)
    first.ready_s()
    assert first.exec("sh", "-c", "echo record-1 | redis-ledger produce orders").returncode == 0
    # When another one is started on its volume, which sees no process of the first
    code, errors = run(data=volume, env=ALONE).end()
    # Then it goes, and the first one works on, and ends in order
    assert code == 2
    assert "is in use by a server outside this machine or container" in errors
    assert lines(first, "redis-ledger", "consume", "orders") == ["record-1"]
    assert first.stop()[0] == 0


def test_the_first_token_is_made_in_the_container_or_brought_as_a_file(run, volume, tmp_path):
    # Given a broker that asks who calls, with a token of its administrator in a file
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef0123456789abcdef\n")
    secret.chmod(0o444)
    container = run(
        data=volume,
        places={secret: "/run/secrets/admin_token"},
        env={"REDIS_LEDGER_BOOTSTRAP_TOKEN_FILE": "/run/secrets/admin_token"},
    )
    container.ready_s()
    # When another one is made inside, as the page says
    made = lines(container, "redis-ledger", "tokens", "create", "User:ada", "--super", "--json")
    tokens = [json.loads(made[0])["token"], secret.read_text().strip()]

    # Then both let in as soon as the broker knows them, and no other
    def status_for(token: str) -> str:
        return lines(container, "python", "-c", STATUS, "http://127.0.0.1:8080/v1/topics", token)[0]

    for token in tokens:
        eventually(lambda token=token: status_for(token) == "200")  # type: ignore[misc]
    assert status_for("rl_guessed_guessed") == "401"


def test_health_says_no_where_nothing_serves_and_where_nothing_answers(run, volume):
    unreachable = run("health", data=volume)
    code, errors = unreachable.end()
    assert code == 1
    assert "not ready: no broker at http://127.0.0.1:8080 (Connection refused)" in errors
    container = run(data=volume, env=ALONE)
    container.ready_s()
    assert container.health().returncode == 0
    server = lines(container, "cat", "/data/redis-ledger/redis.pid")[0]
    assert container.exec("sh", "-c", f"kill -STOP {server}").returncode == 0
    stopped = container.health()
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("redis-ledger: not ready: ")
    assert container.exec("sh", "-c", f"kill -CONT {server}").returncode == 0


def test_a_redis_of_ones_own_is_named_by_a_secret_that_is_a_file(run, volume, tmp_path, capfd):
    # Given a Redis, and its URL in a file that only the user of the image can read
    redis = RedisServer(tmp_path / "redis", ("appendonly yes", "appendfsync always", "unixsocketperm 777"))
    secret = tmp_path / "secret"
    secret.write_text("unix:///sockets/s\n")
    secret.chmod(0o400)
    os.chown(secret, UID, UID)
    places = {secret: "/run/secrets/redis_url", redis.socket.parent: "/srv"}
    secret.write_text("unix:///srv/s\n")
    try:
        # When it is started with the file's name
        container = run(
            data=volume, places=places, env={**ALONE, "REDIS_LEDGER_REDIS_URL_FILE": "/run/secrets/redis_url"}
        )
        with capfd.disabled():
            print()
            note("external", "ready_s", container.ready_s(), "s", READY_S_GOAL)
            note("external", "ready_cpu_s", cpu_s(container), "s")
        # Then it serves from there, and leaves the volume alone
        assert container.health().returncode == 0
        assert os.listdir(volume) == []
        assert container.stop()[0] == 0
        # And a secret that it may not read is refused with what to do
        os.chown(secret, 0, 0)
        code, errors = run(
            data=volume, places=places, env={**ALONE, "REDIS_LEDGER_REDIS_URL_FILE": "/run/secrets/redis_url"}
        ).end()
        assert code == 2
        assert f"cannot be read (Permission denied): correct the path, or let user id {UID} read it" in errors
    finally:
        redis.clean_up()


def test_a_second_look_at_the_base_costs_nothing(image):
    ran = subprocess.run(
        [sys.executable, "-c", "from tests.image.base import base_root; print(base_root())"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "debootstrap" not in ran.stderr
    assert Path(ran.stdout.strip(), "usr/bin/python3.11").exists()
