"""An own Redis or Valkey server in a data directory, shared by the brokers that use that directory.

    data-dir/            0700
      lock               flocked while somebody joins, leaves, starts or stops
      brokers/<pid>-<n>  one per attached broker, flocked as long as it lives: the kernel lets go, also after kill -9
      server.lock        flocked by the server itself, through a descriptor that it inherits
      cluster-id         JSON, by prefix: the cluster whose data is here; a server without it has lost its data
      redis.conf         generated, 0600;  redis.pid, redis.log beside it
      redis.sock         the only door; a path over 100 bytes moves to a 0700 directory under the temp folder,
      socket-path        which this file then names
      appendonlydir/     the data

The server belongs to the directory, not to the broker that started it: it runs in a session of its own, outlives a
broker that is killed, is taken over by the next one, and is stopped by the last broker that leaves.  Whoever is
attached restarts it when it dies.  A directory has one durability at a time, since a server has one appendfsync.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from redis_ledger.app.embedded_redis import binary as server_binary
from redis_ledger.app.embedded_redis import data_disk
from redis_ledger.app.embedded_redis.probe import is_loading, is_ready, is_server_of
from redis_ledger.app.process.startup_error import Refusal
from redis_ledger.telemetry import logs

Durability = Literal["process", "disk", "lossy"]
APPENDFSYNC: dict[Durability, str] = {"process": "no", "disk": "always", "lossy": "everysec"}

SOCKET_PATH_BYTES_MAX = 100  # sun_path holds 108 bytes on Linux and 104 on macOS
START_S_MAX = 30.0  # without an answer; loading an append-only file may take as long as it takes
STOP_S_MAX = 60.0
UNKNOWN_SERVER_S_MAX = 3.0
WATCH_INTERVAL_S = 0.1
RESTART_PAUSE_S_MAX = 5.0
STEADY_S = 10.0  # a server that ran as long as this is restarted at once
PROBE_EVERY_S = 1.0

_log = logs.get()


class Embedded:
    """One broker's hold on the server of a data directory.  Every method but `watch` blocks."""

    def __init__(self, data_dir: Path, durability: Durability, environ: Mapping[str, str]) -> None:
        self.data_dir = data_dir
        self.durability = durability
        self.conf = data_dir / "redis.conf"
        self._environ = environ
        self._presence: tuple[Path, int] | None = None  # its file, and the descriptor that holds the lock on it
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    def attach(cls, data_dir: Path, durability: Durability, environ: Mapping[str, str] = os.environ) -> Embedded:
        """Join the directory, and start its server if it does not run.  Raises Refusal, having changed nothing."""
        held = cls(_claim(data_dir), durability, environ)
        with held._locked():
            others = held._others()
            running = held.pid() is not None
            if others and (now := held._configured()) != durability:
                raise Refusal(
                    f"{held.data_dir} is in use with durability {now}: stop those brokers first, "
                    f"or start this one with --durability {now}."
                )
            if running and held._configured() != durability:
                held._stop()  # left over from a killed broker, and nobody needs its old setting
            held._ensure_running()
            held._register()
        return held

    @property
    def socket(self) -> Path:
        """Where the server listens."""
        named = self.data_dir / "socket-path"
        return Path(named.read_text().strip()) if named.exists() else self.data_dir / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}"

    def pid(self) -> int | None:
        """The running server's process id, checked to be ours; None when it does not run."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None  # reaped
        if (pid := running_pid(self.data_dir)) is not None:
            return pid
        # Between exec and its first line of work a server has no pid file yet.
        return self._child.pid if self._child is not None else None

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Restarts the server whenever it is gone.  Runs until cancelled.

        tell: gets a sentence when the server cannot work, and "" when it can again.  A server that dies soon after each
        start is started less and less often.
        """
        pid, log_from, told = self.pid(), data_disk.log_size(self.data_dir), ""
        pause_s, started_s, probed_s = WATCH_INTERVAL_S, float("-inf"), 0.0
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            now_s, was, pid = time.monotonic(), pid, self.pid()
            if pid is not None and pid == was:
                if told and now_s - probed_s > PROBE_EVERY_S:
                    probed_s = now_s
                    if not await asyncio.to_thread(data_disk.unwritable, self.data_dir):
                        told = ""
                        tell("")
                continue
            # It died, and another broker may have started it again.
            if reason := await asyncio.to_thread(data_disk.trouble, self.data_dir, log_from):
                told = reason
                tell(reason)
            log_from = data_disk.log_size(self.data_dir)
            if pid is not None:
                continue
            _log.warning("embedded server died", data_dir=str(self.data_dir), reason=reason or "its log has the reason")
            is_steady = now_s - started_s > STEADY_S
            pause_s = WATCH_INTERVAL_S if is_steady else min(pause_s * 2, RESTART_PAUSE_S_MAX)
            await asyncio.sleep(0 if is_steady else pause_s)
            try:
                await asyncio.to_thread(self.ensure_running)
            except Refusal as refusal:
                told = data_disk.trouble(self.data_dir, log_from) or str(refusal)
                tell(told)
                _log.error("embedded server does not restart", reason=told, next_try_s=pause_s)
            else:
                _log.warning("embedded server restarted", pid=self.pid())
            pid, started_s = self.pid(), time.monotonic()

    def ensure_running(self) -> None:
        with self._locked():
            if self._presence is not None:  # released meanwhile: nobody of ours needs it any more
                self._ensure_running()

    def release(self) -> None:
        """Leave the directory; the last one to leave stops the server and waits until it has written everything."""
        with self._locked():
            if self._presence is None:
                return
            path, descriptor = self._presence
            self._presence = None
            path.unlink(missing_ok=True)
            os.close(descriptor)
            if not self._others():
                self._stop()

    # What follows is called with the lock held.

    def _register(self) -> None:
        path = self.data_dir / "brokers" / f"{os.getpid()}-{secrets.token_hex(4)}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._presence = path, descriptor

    def _others(self) -> int:
        """Living brokers on this directory besides this one; forgets the dead ones."""
        alive = 0
        for path in (self.data_dir / "brokers").iterdir():
            if self._presence is not None and path == self._presence[0]:
                continue
            with open(path) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    alive += 1
                else:
                    path.unlink()
        return alive

    def _configured(self) -> Durability:
        """The durability the directory's present configuration stands for."""
        return configured_durability(self.data_dir) if self.conf.exists() else self.durability

    def _ensure_running(self) -> None:
        # A server that was killed a moment ago may still look alive; then it is gone while we wait for its answer.
        if self.pid() is not None and self._becomes_ready():
            return
        if is_ready(self.socket) or is_loading(self.socket):
            # A process id says nothing in another container; a second server on the same files would damage them.
            raise Refusal(
                f"The data directory {self.data_dir} is in use by a server that is no process of this machine or "
                "container: stop the brokers of the other one first, or name another directory with --data-dir."
            )
        binary = server_binary.find(self._environ)
        _place_socket(self.data_dir)
        wanted = configuration(self.data_dir, self.socket, self.durability)
        try:
            if not self.conf.exists() or self.conf.read_text() != wanted:
                data_disk.replace(self.conf, wanted)
        except OSError as error:
            raise Refusal(data_disk.trouble(self.data_dir, 0) or f"{self.conf} cannot be written: {error}.") from error
        log_from = data_disk.log_size(self.data_dir)
        self._start(binary.path)
        if not self._becomes_ready():
            reason = data_disk.trouble(self.data_dir, log_from)
            raise Refusal(
                reason
                or f"The embedded server of {self.data_dir} does not start: "
                f"{_last_line(self.data_dir / 'redis.log')} (see redis.log there)."
            )

    def _start(self, binary: Path) -> None:
        held_by_server = os.open(self.data_dir / "server.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            if not self._nobody_serves(held_by_server):
                return
            (self.data_dir / "redis.pid").unlink(missing_ok=True)
            with open(self.data_dir / "redis.log", "ab") as output:
                # A session of its own: Ctrl-C at the terminal is for the broker, which drains first.
                self._child = subprocess.Popen(
                    [binary, self.conf],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=self.data_dir,
                    start_new_session=True,
                    umask=0o077,
                    pass_fds=(held_by_server,),
                )
        finally:
            os.close(held_by_server)

    def _nobody_serves(self, descriptor: int) -> bool:
        """Takes the server's own lock.  False: somebody's server has just come up; it would have been a second one on
        the same files."""
        until_s = time.monotonic() + UNKNOWN_SERVER_S_MAX
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                # A server whose broker was killed right after starting it, and that has no pid file yet; or a dead
                # server's rewrite child, which does no harm and which nobody needs to wait for longer than this.
                if self.pid() is not None:
                    return False
                if time.monotonic() > until_s:
                    return True
            time.sleep(0.01)

    def _becomes_ready(self) -> bool:
        """Waits until it serves.  False: its process is gone.  Raises Refusal if it lives and does not answer."""
        deadline_s = time.monotonic() + START_S_MAX
        while not is_ready(self.socket):
            pid = self.pid()
            if pid is None:
                return False
            if is_loading(self.socket):
                deadline_s = time.monotonic() + START_S_MAX
            elif time.monotonic() > deadline_s:
                raise Refusal(
                    f"The embedded server of {self.data_dir} (process {pid}) does not answer on {self.socket}: "
                    "look into redis.log there, and end that process."
                )
            time.sleep(0.01)
        return True

    def _stop(self) -> None:
        deadline_s, stopped = time.monotonic() + STOP_S_MAX, None
        while (pid := self.pid()) is not None:
            stopped = pid
            if time.monotonic() > deadline_s:
                _log.error("embedded server does not stop", pid=pid, data_dir=str(self.data_dir))
                return
            # Repeated, since a server that is still loading may miss the first.  Losing the race to its end is fine.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            self._await_gone(1.0)
        # A server removes its pid file shortly before it ends.
        while stopped is not None and is_server_of(stopped, self.conf) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        _remove_socket(self.data_dir)

    def _await_gone(self, timeout_s: float) -> None:
        until_s = time.monotonic() + timeout_s
        while self.pid() is not None and time.monotonic() < until_s:
            time.sleep(0.01)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self.data_dir / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def running_pid(data_dir: Path) -> int | None:
    """The process id of the directory's server, checked to be that server; None when none runs.  Needs no lock."""
    try:
        pid = int((data_dir / "redis.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and is_server_of(pid, data_dir / "redis.conf") else None


def configured_durability(data_dir: Path) -> Durability:
    """What the directory's present configuration stands for."""
    text = (data_dir / "redis.conf").read_text()
    return next(name for name, policy in APPENDFSYNC.items() if f"\nappendfsync {policy}\n" in text)


def configuration(data_dir: Path, socket: Path, durability: Durability) -> str:
    """The server's whole configuration: nothing is left to a redis.conf of the machine."""
    return f"""\
# Written by redis-ledger at every start; changes are lost.
port 0
protected-mode yes
unixsocket {_quoted(socket)}
unixsocketperm 700
daemonize no
set-proc-title no
dir {_quoted(data_dir)}
pidfile {_quoted(data_dir / "redis.pid")}
logfile {_quoted(data_dir / "redis.log")}
databases 1
save ""
appendonly yes
appendfsync {APPENDFSYNC[durability]}
no-appendfsync-on-rewrite no
auto-aof-rewrite-percentage 200
auto-aof-rewrite-min-size 1gb
rdbcompression no
latency-tracking no
aof-load-truncated yes
maxmemory-policy noeviction
"""


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _claim(data_dir: Path) -> Path:
    """The directory as an absolute path, made if absent and closed to others.  A stranger's directory is refused."""
    # Resolved: two names of one directory must not become two servers on the same files.
    path = data_dir.expanduser().resolve()
    if any(ord(char) < 32 for char in str(path)):
        raise Refusal(f"The data directory {str(path)!r} has control characters in its name: choose another.")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = {"lock", "brokers"} & set(os.listdir(path))
        if not ours and os.listdir(path):
            raise Refusal(
                f"{path} is neither empty nor a data directory of redis-ledger: name another with --data-dir."
            )
        path.chmod(0o700)
        (path / "brokers").mkdir(mode=0o700, exist_ok=True)
        (path / "lock").touch(mode=0o600)
    except OSError as error:
        raise Refusal(
            f"The data directory {path} cannot be used ({error.strerror}): name a writable one with --data-dir."
        ) from error
    return path


def _place_socket(data_dir: Path) -> None:
    """Decide where the socket goes, and leave word of it when that is not in the directory."""
    if len(os.fsencode(data_dir / "redis.sock")) <= SOCKET_PATH_BYTES_MAX:
        return
    _remove_socket(data_dir)
    directory = tempfile.mkdtemp(prefix="redis-ledger-")  # 0700, a name that nobody could prepare
    (data_dir / "socket-path").write_text(f"{directory}/redis.sock\n")


def _remove_socket(data_dir: Path) -> None:
    (data_dir / "redis.sock").unlink(missing_ok=True)
    (data_dir / "redis.pid").unlink(missing_ok=True)
    named = data_dir / "socket-path"
    if named.exists():
        directory = Path(named.read_text().strip()).parent
        # Only what mkdtemp made for us: this file might have been copied from elsewhere.
        if directory.name.startswith("redis-ledger-") and directory.is_dir() and directory.stat().st_uid == os.getuid():
            shutil.rmtree(directory, ignore_errors=True)
        named.unlink()


def _last_line(path: Path) -> str:
    try:
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return lines[-1][:200].rstrip(".") if lines else "it ended without a word"
