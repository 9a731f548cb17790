"""The embedded Redis or Valkey server of a data directory, shared by the brokers that use the directory.

    data-dir/            0700
      lock               flocked while a broker joins or leaves and while the server starts or stops
      brokers/<pid>-<n>  one per attached broker, flocked while it lives; the kernel unlocks it after kill -9
      server.lock        flocked by the server itself, through an inherited descriptor
      cluster-id         JSON, prefix → cluster id; if the server lacks that cluster, it has lost its data
      redis.conf         generated, 0600;  redis.pid, redis.log beside it
      redis.sock         the only listener; if the path exceeds 100 bytes, in a 0700 directory in the temp folder
      socket-path        then contains the path of the socket
      appendonlydir/     the data

The server belongs to the directory, not to the broker that started it.  It runs in its own session, survives a broker
that is killed, is reused by the next one, and is stopped by the last broker that leaves.  Any attached broker restarts
it when it dies.  All brokers of a directory use the same durability, because a server has one appendfsync.
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

from redis_ledger.app.embedded_redis import data_disk
from redis_ledger.app.embedded_redis.binary import find_server
from redis_ledger.app.embedded_redis.probe import is_loading, is_ready, is_server_of
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.telemetry import logs

Durability = Literal["process", "disk", "lossy"]
APPENDFSYNC: dict[Durability, str] = {"process": "no", "disk": "always", "lossy": "everysec"}

SOCKET_PATH_BYTES_MAX = 100  # sun_path holds 108 bytes on Linux and 104 on macOS
START_S_MAX = 30.0  # without a reply; loading an append-only file is not limited
STOP_S_MAX = 60.0
UNKNOWN_SERVER_S_MAX = 3.0
WATCH_INTERVAL_S = 0.1
RESTART_PAUSE_S_MAX = 5.0
STEADY_S = 10.0  # a server that ran this long is restarted without backoff
PROBE_EVERY_S = 1.0

_log = logs.get()


class EmbeddedServer:
    """A broker's attachment to the server of a data directory.  All methods except `watch` block."""

    def __init__(self, data_dir: Path, durability: Durability, environ: Mapping[str, str]) -> None:
        self.data_dir = data_dir
        self.durability = durability
        self.conf = data_dir / "redis.conf"
        self._environ = environ
        self._presence: tuple[Path, int] | None = None  # the file in brokers/ and the descriptor that locks it
        self._child: subprocess.Popen[bytes] | None = None

    @classmethod
    def attach(cls, data_dir: Path, durability: Durability, environ: Mapping[str, str] = os.environ) -> EmbeddedServer:
        """Joins the directory and starts its server if necessary.  Raises CommandError; nothing is changed then."""
        held = cls(_prepare_directory(data_dir), durability, environ)
        with held._locked():
            others = held._other_brokers()
            running = held.pid() is not None
            if others and (now := held._configured()) != durability:
                raise CommandError(
                    f"{held.data_dir} is in use with durability {now}: stop those brokers first, "
                    f"or start this one with --durability {now}."
                )
            if running and held._configured() != durability:
                held._stop()  # left by a killed broker, with another durability
            held._ensure_running()
            held._add_broker_file()
        return held

    @property
    def socket(self) -> Path:
        """The path of the server's socket."""
        named = self.data_dir / "socket-path"
        return Path(named.read_text().strip()) if named.exists() else self.data_dir / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}"

    def pid(self) -> int | None:
        """The verified process id of the running server; None if it does not run."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None  # reaped
        if (pid := running_pid(self.data_dir)) is not None:
            return pid
        # A server that has just started has no pid file yet.
        return self._child.pid if self._child is not None else None

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Restarts the server when it exits.  Runs until cancelled.

        tell: called with the problem when the server cannot run, and with "" when it runs again.  Restarts of a server
        that dies soon after each start back off.
        """
        pid, log_from, problem = self.pid(), data_disk.log_size(self.data_dir), ""
        pause_s, started_s, probed_s = WATCH_INTERVAL_S, float("-inf"), 0.0
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            now_s, was, pid = time.monotonic(), pid, self.pid()
            if pid is not None and pid == was:
                if problem and now_s - probed_s > PROBE_EVERY_S:
                    probed_s = now_s
                    if not await asyncio.to_thread(data_disk.unwritable, self.data_dir):
                        problem = ""
                        tell("")
                continue
            # Another broker may have restarted it.
            if reason := await asyncio.to_thread(data_disk.trouble, self.data_dir, log_from):
                problem = reason
                tell(reason)
            log_from = data_disk.log_size(self.data_dir)
            if pid is not None:
                continue
            _log.warning("embedded server died", data_dir=str(self.data_dir), reason=reason or "see its log")
            is_steady = now_s - started_s > STEADY_S
            pause_s = WATCH_INTERVAL_S if is_steady else min(pause_s * 2, RESTART_PAUSE_S_MAX)
            await asyncio.sleep(0 if is_steady else pause_s)
            try:
                await asyncio.to_thread(self.ensure_running)
            except CommandError as refusal:
                problem = data_disk.trouble(self.data_dir, log_from) or str(refusal)
                tell(problem)
                _log.error("embedded server does not restart", reason=problem, next_try_s=pause_s)
            else:
                _log.warning("embedded server restarted", pid=self.pid())
            pid, started_s = self.pid(), time.monotonic()

    def ensure_running(self) -> None:
        with self._locked():
            if self._presence is not None:  # released meanwhile
                self._ensure_running()

    def release(self) -> None:
        """Leaves the directory; the last broker stops the server and waits until it has written its data."""
        with self._locked():
            if self._presence is None:
                return
            path, descriptor = self._presence
            self._presence = None
            path.unlink(missing_ok=True)
            os.close(descriptor)
            if not self._other_brokers():
                self._stop()

    # The following methods require the lock.

    def _add_broker_file(self) -> None:
        path = self.data_dir / "brokers" / f"{os.getpid()}-{secrets.token_hex(4)}"
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._presence = path, descriptor

    def _other_brokers(self) -> int:
        """Other live brokers of this directory; deletes the files of dead ones."""
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
        """The durability of the current configuration."""
        return configured_durability(self.data_dir) if self.conf.exists() else self.durability

    def _ensure_running(self) -> None:
        # A server that was just killed may still appear alive; it disappears during the wait for its reply.
        if self.pid() is not None and self._wait_until_ready():
            return
        if is_ready(self.socket) or is_loading(self.socket):
            # A pid has no meaning in another container; a second server on the same files would damage them.
            raise CommandError(
                f"The data directory {self.data_dir} is in use by a server outside this machine or "
                "container: stop its brokers first, or choose another directory with --data-dir."
            )
        binary = find_server(self._environ)
        _choose_socket(self.data_dir)
        wanted = configuration(self.data_dir, self.socket, self.durability)
        try:
            if not self.conf.exists() or self.conf.read_text() != wanted:
                data_disk.replace(self.conf, wanted)
        except OSError as error:
            raise CommandError(
                data_disk.trouble(self.data_dir, 0) or f"{self.conf} cannot be written: {error}."
            ) from error
        log_from = data_disk.log_size(self.data_dir)
        self._start(binary.path)
        if not self._wait_until_ready():
            reason = data_disk.trouble(self.data_dir, log_from)
            raise CommandError(
                reason
                or f"The embedded server of {self.data_dir} does not start: "
                f"{_last_line(self.data_dir / 'redis.log')} (see redis.log there)."
            )

    def _start(self, binary: Path) -> None:
        held_by_server = os.open(self.data_dir / "server.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            if not self._acquire_server_lock(held_by_server):
                return
            (self.data_dir / "redis.pid").unlink(missing_ok=True)
            with open(self.data_dir / "redis.log", "ab") as output:
                # Its own session: Ctrl-C at the terminal must reach only the broker, which drains first.
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

    def _acquire_server_lock(self, descriptor: int) -> bool:
        """Takes the server's lock.  Returns False if a server has just started on the same files."""
        until_s = time.monotonic() + UNKNOWN_SERVER_S_MAX
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                # A server without a pid file, whose broker was killed right after starting it; or the rewrite child of
                # a dead server, which is harmless and ends soon.
                if self.pid() is not None:
                    return False
                if time.monotonic() > until_s:
                    return True
            time.sleep(0.01)

    def _wait_until_ready(self) -> bool:
        """Waits until the server is ready.  False: it has exited.  Raises CommandError if it does not respond."""
        deadline_s = time.monotonic() + START_S_MAX
        while not is_ready(self.socket):
            pid = self.pid()
            if pid is None:
                return False
            if is_loading(self.socket):
                deadline_s = time.monotonic() + START_S_MAX
            elif time.monotonic() > deadline_s:
                raise CommandError(
                    f"The embedded server of {self.data_dir} (process {pid}) does not answer on {self.socket}: "
                    "see redis.log there, and end that process."
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
            # Repeated, because a server that is still loading may miss the first signal; the process may be gone
            # already.
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
    """The verified process id of the directory's server; None if it does not run.  Requires no lock."""
    try:
        pid = int((data_dir / "redis.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if pid > 0 and is_server_of(pid, data_dir / "redis.conf") else None


def configured_durability(data_dir: Path) -> Durability:
    """The durability of the directory's current configuration; None if there is none."""
    text = (data_dir / "redis.conf").read_text()
    return next(name for name, policy in APPENDFSYNC.items() if f"\nappendfsync {policy}\n" in text)


def configuration(data_dir: Path, socket: Path, durability: Durability) -> str:
    """The complete configuration of the server; a redis.conf of the machine has no effect."""
    return f"""\
# Written by redis-ledger at every start; changes are lost.  Brokers start rewrites of the append-only file.
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
auto-aof-rewrite-percentage 0
rdbcompression no
latency-tracking no
aof-load-truncated yes
maxmemory-policy noeviction
"""


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _prepare_directory(data_dir: Path) -> Path:
    """Creates the directory if necessary and returns its absolute path.  Raises CommandError if it has other
    content."""
    # Resolve the path: two names of one directory must not start two servers on the same files.
    path = data_dir.expanduser().resolve()
    if any(ord(char) < 32 for char in str(path)):
        raise CommandError(f"The data directory {str(path)!r} has control characters in its name: choose another.")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = {"lock", "brokers"} & set(os.listdir(path))
        if not ours and os.listdir(path):
            raise CommandError(
                f"{path} is neither empty nor a data directory of redis-ledger: choose another with --data-dir."
            )
        path.chmod(0o700)
        (path / "brokers").mkdir(mode=0o700, exist_ok=True)
        (path / "lock").touch(mode=0o600)
    except OSError as error:
        raise CommandError(
            f"The data directory {path} cannot be used ({error.strerror}): choose a writable one with --data-dir."
        ) from error
    return path


def _choose_socket(data_dir: Path) -> None:
    """Chooses the path of the socket and stores it in `socket-path` if it is outside the directory."""
    if len(os.fsencode(data_dir / "redis.sock")) <= SOCKET_PATH_BYTES_MAX:
        return
    _remove_socket(data_dir)
    directory = tempfile.mkdtemp(prefix="redis-ledger-")  # 0700, with an unpredictable name
    (data_dir / "socket-path").write_text(f"{directory}/redis.sock\n")


def _remove_socket(data_dir: Path) -> None:
    (data_dir / "redis.sock").unlink(missing_ok=True)
    (data_dir / "redis.pid").unlink(missing_ok=True)
    named = data_dir / "socket-path"
    if named.exists():
        directory = Path(named.read_text().strip()).parent
        # Only directories of mkdtemp: this file may be a copy from elsewhere.
        if directory.name.startswith("redis-ledger-") and directory.is_dir() and directory.stat().st_uid == os.getuid():
            shutil.rmtree(directory, ignore_errors=True)
        named.unlink()


def _last_line(path: Path) -> str:
    try:
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return lines[-1][:200].rstrip(".") if lines else "it exited without a message"
