"""Whether the broker beside us is ready: GET /readyz, answered by an exit code, for health checks of containers.

It runs every few seconds for as long as a container lives, so it is made of sockets and imports next to nothing.  Which
scheme a broker speaks is told by its settings or, where they were given as arguments, found out: what answers a plain
request with something else than HTTP is asked again with TLS.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

HTTP = "127.0.0.1:8080"  # as serve has it
TIMEOUT_MS = 3_000
ANSWER_BYTES_MAX = 65_536
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class Health(NamedTuple):
    """sentence: for the operator; says what is wrong and, where that is known, what to do."""

    is_ready: bool
    sentence: str


class _NotHttp(Exception):
    """Something answered or hung up, but not as HTTP does."""


def look(address: str | None = None, environ: Mapping[str, str] = os.environ, timeout_ms: int = TIMEOUT_MS) -> Health:
    """address: HOST:PORT as serve's --http, or an http:// or https:// URL; None: what the environment says."""
    given = address or environ.get("REDIS_LEDGER_HTTP") or HTTP
    scheme, _, place = given.rpartition("://")
    host, _, number = place.rstrip("/").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if scheme not in ("", "http", "https") or not (number.isascii() and number.isdigit() and 0 < int(number) < 65_536):
        return Health(False, f"{given!r} names no port to ask: write --http 127.0.0.1:8080, with serve's port.")
    host, port = _EVERYWHERE.get(host, host), int(number)
    if scheme:
        schemes = [scheme]
    else:
        schemes = ["https", "http"] if environ.get("REDIS_LEDGER_TLS_CERTIFICATE") else ["http", "https"]
    until_s = time.monotonic() + timeout_ms / 1000
    for scheme in schemes:
        shown = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        try:
            status, body = _ask(host, port, scheme == "https", until_s)
        except _NotHttp:
            continue
        except TimeoutError:
            return Health(False, f"not ready: nothing answered at {shown} within {timeout_ms} ms.")
        except OSError as error:
            return Health(False, f"not ready: no broker is reached at {shown} ({error.strerror or error}).")
        if status == 200:
            return Health(True, f"ready: {shown}")
        return Health(False, f"not ready: {_reason(status, body)}")
    return Health(False, f"not ready: what listens at {host}:{port} speaks neither HTTP nor HTTPS with us.")


def _ask(host: str, port: int, tls: bool, until_s: float) -> tuple[int, bytes]:
    """Status and body.  Raises OSError, TimeoutError, _NotHttp."""
    connection = socket.create_connection((host, port), timeout=_left(until_s))
    try:
        if tls:
            connection = _encrypted(connection)
        connection.sendall(f"GET /readyz HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while len(answer) < ANSWER_BYTES_MAX:
            connection.settimeout(_left(until_s))
            some = connection.recv(ANSWER_BYTES_MAX)
            if not some:
                break
            answer += some
    except ConnectionError as error:
        raise _NotHttp from error
    finally:
        connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise _NotHttp
    return int(words[1]), body


def _encrypted(connection: socket.socket) -> socket.socket:
    import ssl

    context = ssl.create_default_context()
    # The certificate names the address that clients use, not this one; we only look at our own machine.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        return context.wrap_socket(connection)
    except ssl.SSLError as error:
        raise _NotHttp from error


def _left(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _reason(status: int, body: bytes) -> str:
    import json

    try:
        return f"{json.loads(body)['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"/readyz answered {status}."


def tell(health: Health) -> int:
    """Prints the sentence; the exit code."""
    if health.is_ready:
        print(health.sentence)
        return 0
    print(f"redis-ledger: {health.sentence}", file=sys.stderr)
    return 1
