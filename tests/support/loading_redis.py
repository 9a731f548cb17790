"""A Redis that takes a while to load its data after a restart.

with redis_server() as server:
    fill(server)
    restart_loading(server, 3.0)
"""

from __future__ import annotations

from tests.support.redis_servers import Server

KEYS = 3_000


def fill(server: Server) -> None:
    """Keys that take time to load."""
    server.ask_all(*(("SET", f"filler:{n}", n) for n in range(KEYS)))


def restart_loading(server: Server, seconds: float) -> None:
    """Kills the server, and starts it so that it loads what `fill` wrote for so long."""
    assert server.ask("SAVE") == b"OK"
    server.kill()
    server._conf |= {"key-load-delay": str(int(seconds * 1e6 / KEYS)), "loading-process-events-interval-bytes": "1024"}
    server.start()
    assert is_loading(server)


def finish_loading(server: Server) -> None:
    """Loads the rest at once."""
    assert server.ask("CONFIG", "SET", "key-load-delay", "0") == b"OK"


def is_loading(server: Server) -> bool:
    found = server.ask("INFO", "persistence")
    assert isinstance(found, bytes)
    return b"loading:1" in found
