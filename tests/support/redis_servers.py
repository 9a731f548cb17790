"""Real Redis servers for tests: on loopback or a unix socket, in a folder that goes away, stopped by their own pid.

The binary is the one that an embedded server would run (app/embedded_redis/binary.py).
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hiredis import Reader, ReplyError, pack_command

from redis_ledger.app.embedded_redis.binary import find_server
from tests.support.free_ports import free_port
from tests.support.reaper import ends_with_us

READY_S_MAX = 30.0  # on a busy machine
SLOTS = 16_384


@functools.cache
def installed(named: str, path: str) -> str:
    return str(find_server({"REDIS_LEDGER_SERVER_BIN": named, "PATH": path}).path)


def binary() -> str:
    """Raises CommandError when there is none of version 7.0 or later."""
    return installed(os.environ.get("REDIS_LEDGER_SERVER_BIN", ""), os.environ.get("PATH", ""))


class Server:
    """One server.  url: how a store is opened on it.  port: 0 for any.  environ: additions to its environment.
    has_file: it keeps its settings in a file, so that CONFIG REWRITE, as of Sentinel, outlives a restart."""

    def __init__(
        self,
        folder: Path,
        *,
        unix: bool = False,
        port: int = 0,
        server_binary: str | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
        has_file: bool = False,
        **conf: str,
    ) -> None:
        self.folder, self._environ = folder, environ
        self._file = folder / "redis.conf" if has_file else None
        self.port = 0 if unix else port or free_port()
        self.path = str(folder / "redis.sock") if unix else None
        self.url = f"unix://{self.path}" if unix else f"redis://127.0.0.1:{self.port}"
        self._binary = server_binary or binary()
        self._conf = {"save": "", "appendonly": "no", "dir": str(folder), "port": str(self.port), "daemonize": "no"}
        self._conf |= {"bind": "127.0.0.1"} if not unix else {"unixsocket": str(self.path)}
        self._conf |= {name.replace("_", "-"): value for name, value in conf.items()}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = [part for name, value in self._conf.items() for part in (f"--{name}", value)]
        if self._file is not None:
            if not self._file.exists():
                lines = (f"{name} {value}\n" if value else f'{name} ""\n' for name, value in self._conf.items())
                self._file.write_text("".join(lines))
            arguments = [str(self._file)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._binary, *arguments], stdout=log, stderr=log, env={**os.environ, **self._environ}
            )
        ends_with_us(self._process)
        until = time.monotonic() + READY_S_MAX
        while True:
            try:
                if self.ask("PING") in (b"PONG", None) or isinstance(self.ask("PING"), ReplyError):
                    return
            except OSError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, f"{self._binary} did not start"
            time.sleep(0.005)  # a server has no other way to tell that it listens

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def ask(self, *args: str | bytes | int) -> object:
        """One command on a connection of its own; an error reply is returned, not raised."""
        (reply,) = self.ask_all(args)
        return reply

    def ask_all(self, *commands: tuple[str | bytes | int, ...]) -> list[object]:
        with socket.socket(socket.AF_UNIX if self.path else socket.AF_INET) as link:
            link.settimeout(5)
            link.connect(self.path or ("127.0.0.1", self.port))
            link.sendall(b"".join(pack_command(command) for command in commands))  # type: ignore[arg-type]
            reader = Reader()
            replies: list[object] = []
            while len(replies) < len(commands):
                data = link.recv(65_536)
                if not data:
                    raise ConnectionError("closed")
                reader.feed(data)
                while (reply := reader.gets()) is not False:
                    replies.append(reply)
            return replies

    def freeze(self) -> None:
        """It keeps its connections and answers nothing until `thaw`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def info(self, section: str) -> bytes:
        reply = self.ask("INFO", section)
        assert isinstance(reply, bytes), reply
        return reply

    def kill(self) -> None:
        """As kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None


@contextlib.contextmanager
def redis_server(*, unix: bool = False, server_binary: str | None = None, **conf: str) -> Iterator[Server]:
    """conf: settings by name, `_` for `-`: redis_server(maxmemory="10mb", appendonly="yes")."""
    # A child that writes for a replica may outlive its server for a moment.
    with tempfile.TemporaryDirectory(prefix="rl-", ignore_cleanup_errors=True) as folder:
        settings: dict[str, Any] = dict(conf)
        server = Server(Path(folder), unix=unix, port=0, server_binary=server_binary, **settings)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def replicated(replicas: int = 2, **conf: str) -> Iterator[list[Server]]:
    """A primary, first, and replicas that have all it has."""
    settings: dict[str, Any] = {"repl_diskless_sync_delay": "0", "appendonly": "yes", "appendfsync": "no", **conf}
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(redis_server(**settings))
        followers = [
            stack.enter_context(redis_server(replicaof=f"127.0.0.1 {primary.port}", **settings))
            for _ in range(replicas)
        ]
        for server in followers:
            wait_in_step(server)
        wait_for_replicas(primary, replicas)
        yield [primary, *followers]


def wait_for_replicas(primary: Server, count: int) -> None:
    """Until WAIT counts them: a replica gets writes from its first acknowledgement on, up to a second after it is in
    step."""
    _until(
        lambda: primary.ask_all(("SET", "in step", ""), ("WAIT", count, 2_000))[1] == count,
        "the primary lacks replicas",
    )
    primary.ask("DEL", "in step")


def wait_in_step(replica: Server) -> None:
    _until(lambda: b"master_link_status:up" in replica.info("replication"), "the replica is not in step")


class ClusterServers:
    """Three primaries that share all slots, without replicas."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{server.port}" for server in servers)

    def id_of(self, server: Server) -> str:
        name = server.ask("CLUSTER", "MYID")
        assert isinstance(name, bytes), name
        return name.decode()

    def owner(self, slot: int) -> Server:
        ranges = self.servers[0].ask("CLUSTER", "SLOTS")
        assert isinstance(ranges, list), ranges
        port = next(primary[1] for first, last, primary, *_ in ranges if first <= slot <= last)
        return next(server for server in self.servers if server.port == port)

    @contextlib.contextmanager
    def replica_of(self, primary: Server, **conf: Any) -> Iterator[Server]:
        """A replica that has all its primary has."""
        with redis_server(cluster_enabled="yes", **conf) as replica:
            replica.ask("CLUSTER", "MEET", "127.0.0.1", primary.port)
            name = self.id_of(primary)
            _until(lambda: replica.ask("CLUSTER", "REPLICATE", name) == b"OK", "the replica does not know its primary")
            wait_in_step(replica)
            yield replica

    @staticmethod
    def cut_off(replica: Server, primary: Server) -> None:
        """From now on the replica gets nothing of what its primary writes."""
        replica.freeze()
        primary.ask("CLIENT", "KILL", "TYPE", "replica")

    @staticmethod
    def take_over(replica: Server, primary: Server) -> None:
        """The primary dies, and its replica serves its slots with what it has."""
        primary.kill()
        replica.thaw()
        assert replica.ask("CLUSTER", "FAILOVER", "TAKEOVER") == b"OK"
        _until(lambda: b"role:master" in replica.info("replication"), "the replica did not take over")

    def begin_migration(self, slot: int, source: Server, target: Server) -> None:
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id_of(source))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id_of(target))

    def move_key(self, key: bytes, source: Server, target: Server) -> None:
        reply = source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5_000)
        assert reply in (b"OK", b"NOKEY"), reply

    def move_keys(self, slot: int, source: Server, target: Server, most: int = 1_000) -> int:
        """Moves some of the keys that are still at the source; how many."""
        keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, most)
        assert isinstance(keys, list), keys
        for key in keys:
            self.move_key(key, source, target)
        return len(keys)

    def give_up_migration(self, slot: int, source: Server, target: Server) -> None:
        for server in (target, source):
            assert server.ask("CLUSTER", "SETSLOT", slot, "STABLE") == b"OK"

    def end_migration(self, slot: int, target: Server) -> None:
        name = self.id_of(target)
        for server in (target, *self.servers):
            reply = server.ask("CLUSTER", "SETSLOT", slot, "NODE", name)
            assert reply == b"OK", reply


@contextlib.contextmanager
def redis_cluster(primaries: int = 3, /, *, server_binary: str | None = None, **conf: str) -> Iterator[ClusterServers]:
    with contextlib.ExitStack() as stack:
        settings: dict[str, Any] = {"cluster_enabled": "yes", "cluster_node_timeout": "5000"} | conf
        servers = [stack.enter_context(redis_server(server_binary=server_binary, **settings)) for _ in range(primaries)]
        bounds = [SLOTS * place // primaries for place in range(primaries + 1)]
        for place, server in enumerate(servers):
            server.ask_all(
                ("CLUSTER", "SET-CONFIG-EPOCH", place + 1),
                ("CLUSTER", "ADDSLOTSRANGE", bounds[place], bounds[place + 1] - 1),
            )
        for server in servers[1:]:
            servers[0].ask("CLUSTER", "MEET", "127.0.0.1", server.port)
        _until(lambda: all(_agrees(server, primaries) for server in servers), "the cluster did not form")
        yield ClusterServers(servers)


def _until(holds: Callable[[], bool], otherwise: str) -> None:
    until = time.monotonic() + READY_S_MAX
    while not holds():
        assert time.monotonic() < until, otherwise
        time.sleep(0.02)  # gossip and replication have no event to wait for


def _agrees(server: Server, primaries: int) -> bool:
    info, ranges = server.ask_all(("CLUSTER", "INFO"), ("CLUSTER", "SLOTS"))
    assert isinstance(info, bytes)
    assert isinstance(ranges, list)
    return b"cluster_state:ok" in info and b"cluster_known_nodes:%d\r" % primaries in info and len(ranges) == primaries
