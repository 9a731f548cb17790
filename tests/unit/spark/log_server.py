"""A minimal broker: one partition's batches over HTTP, on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from redis_ledger.records.batch import place, read_header
from redis_ledger.records.build import encode


class LogServer(ThreadingHTTPServer):
    """batches: in offset order.  asked: offset and max_bytes of each request.  refuse: responses that come first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.batches: list[bytes] = []
        self.start = self.end = 0
        self.asked: list[tuple[int, int]] = []
        self.headers: list[dict[str, str]] = []
        self.refuse: list[int | None] = []  # a status; None closes the connection
        self.hangs_up = False  # after each response
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, values: list[bytes], *, timestamp_ms: int = 0, compression: int = 0) -> None:
        rows = [(b"k", value, [("h", value)], timestamp_ms + place_) for place_, value in enumerate(values)]
        self.batches.append(place(encode(rows, compression=compression), self.end, 0))
        self.end += len(values)

    def skip(self, offsets: int) -> None:
        """Leaves gaps, as markers and aborted records do."""
        self.end += offsets


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LogServer

    def setup(self) -> None:
        self.server.connections += 1
        super().setup()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        log = self.server
        self.close_connection |= log.hangs_up
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        offset, max_bytes = int(query["offset"]), int(query["max_bytes"])
        log.asked.append((offset, max_bytes))
        log.headers.append(dict(self.headers))
        if log.refuse:
            status = log.refuse.pop(0)
            if status is None:
                self.close_connection = True
                return
            code = {401: "unauthenticated"}.get(status, "draining")
            self._answer(status, json.dumps({"code": code, "detail": "Going."}).encode(), {})
            return
        if not log.start <= offset <= log.end:
            problem = {"code": "offset_out_of_range", "detail": "No.", "start_offset": log.start, "end_offset": log.end}
            self._answer(404, json.dumps(problem).encode(), {})
            return
        body, following = b"", offset
        for data in log.batches:
            header = read_header(data)
            if header.last_offset < offset:
                continue
            if body and len(body) + len(data) > max_bytes:
                break
            body, following = body + data, header.last_offset + 1
        else:
            following = log.end
        output = {"next": following, "start": log.start, "stable": log.end, "end": log.end}
        self._answer(200, body, {f"redis-ledger-{name}-offset": str(value) for name, value in output.items()})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in (headers | {"content-length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def log_server() -> Iterator[LogServer]:
    with LogServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
