"""Running `redis-ledger serve` and Redis servers as processes, for tests that look at them from outside."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import httpx

from redis_ledger.app.embedded_redis.binary import find_server
from redis_ledger.app.embedded_redis.probe import is_ready
from tests.support.reaper import end_server, ends_with_us, server_ends_with_us

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0
LOOK_S_MAX = 0.1  # a look that takes longer counts as this much
READY_S_MAX = 90.0  # a start takes two seconds of a core, and a busy machine has none to spare


class Release(NamedTuple):
    """The code that a process runs: this checkout's by default.  main: the module of the command line."""

    root: Path = ROOT
    python: Path = Path(sys.executable)
    main: str = "redis_ledger.app.cli.main"


class Serve:
    """A `serve` process.  Arguments are added to `--http 127.0.0.1:0`.

    It ends with the tests, and so does the embedded server in its data directory, which would outlive a killed broker.
    """

    _running: ClassVar[list[Serve]] = []

    def __init__(
        self,
        *arguments: str | Path,
        http: str = "127.0.0.1:0",
        environ: dict[str, str] | None = None,
        release: Release = Release(),  # noqa: B008 - a tuple
    ) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_LEDGER_")}
        self.process = subprocess.Popen(
            [
                str(release.python),
                "-m",
                release.main,
                "serve",
                "--http",
                http,
                *(() if "--kafka" in arguments else ("--kafka", "127.0.0.1:0")),
                "--log-level",
                "error",
                *map(str, arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=release.root,
            env={**clean, **(environ or {})},
        )
        ends_with_us(self.process)
        words = list(map(str, arguments))
        self.data_dir = Path(words[words.index("--data-dir") + 1]).resolve() if "--data-dir" in words else None
        if self.data_dir is not None:
            server_ends_with_us(self.data_dir)
        self._running.append(self)
        self._ready = ""

    @property
    def ready(self) -> str:
        """The ready line."""
        if not self._ready:
            assert self.process.stdout is not None
            assert select.select([self.process.stdout], [], [], READY_S_MAX)[0], "no ready line"
            self._ready = self.process.stdout.readline().strip()
            assert self._ready, self.end()[1]
        return self._ready

    def field(self, name: str) -> str:
        return next(word.partition("=")[2] for word in self.ready.split() if word.startswith(f"{name}="))

    @property
    def urls(self) -> list[str]:
        return self.field("http").split(",")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        with httpx.Client(base_url=self.urls[0], timeout=PATIENCE_S, trust_env=False) as http:
            answer = http.request(method, path, json=body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()[0]

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> tuple[int, str]:
        """Exit code and stderr, once it has ended by itself."""
        _, errors = self.process.communicate(timeout=READY_S_MAX)
        return self.process.returncode, errors

    def clean_up(self) -> None:
        """Ends it, and the server in its data directory unless another broker of ours uses it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        if self in self._running:
            self._running.remove(self)
        others = [each for each in self._running if each.process.poll() is None and each.data_dir == self.data_dir]
        if self.data_dir is not None and not others:
            end_server(self.data_dir)


class RedisServer:
    """A Redis of the test's own on a unix socket, with these lines of configuration."""

    def __init__(self, directory: Path, settings: Sequence[str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.socket = directory / "s"
        lines = ["port 0", f"unixsocket {self.socket}", f"dir {directory}", 'save ""', *settings]
        (directory / "test.conf").write_text("\n".join(lines) + "\n")
        binary = find_server(os.environ).path
        self.process = subprocess.Popen([binary, directory / "test.conf"], stdout=subprocess.DEVNULL)
        ends_with_us(self.process)
        eventually(lambda: is_ready(self.socket))

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def clean_up(self) -> None:
        self.process.kill()
        self.process.wait()


def eventually(holds: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Returns as soon as it holds; fails when it never does.  On a busy machine, where looks are slow, the time is
    longer."""
    counted_s, began_s = 0.0, time.monotonic()
    while not holds():
        assert counted_s < within_s, f"not within {within_s} s"
        time.sleep(0.02)  # between two looks at another process, which has no way to tell us
        counted_s, began_s = counted_s + min(time.monotonic() - began_s, LOOK_S_MAX), time.monotonic()


def kill_server(data_dir: Path) -> int:
    """kill -9 of the embedded server; its process id."""
    pid = end_server(data_dir)
    assert pid is not None
    return pid


def produce(serve: Serve, text: str) -> None:
    serve.call("POST", "/v1/topics/t/records", {"records": [{"text": text}]})


def texts(serve: Serve) -> list[str]:
    page = serve.call("GET", "/v1/topics/t/partitions/0/records?offset=earliest")
    return [record["text"] for record in page["records"]]


def is_alive(url: str) -> bool:
    try:
        return httpx.get(f"{url}/livez", timeout=1, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
