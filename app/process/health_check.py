"""Readiness check of the local broker for containers: GET /readyz, returned as an exit code.

It runs every few seconds, so it uses plain sockets and few imports.  The scheme comes from the settings; if they were
given as arguments, a response that is not HTTP is followed by a request with TLS.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

HTTP = "127.0.0.1:8080"  # the default of serve
TIMEOUT_MS = 3_000
ANSWER_BYTES_MAX = 65_536
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class Health(NamedTuple):
    """sentence: for the operator, with the problem and, if known, the remedy."""

    is_ready: bool
    sentence: str


class _NotHttp(Exception):
    """The response is not HTTP, or the connection was closed."""


def look(address: str | None = None, environ: Mapping[str, str] = os.environ, timeout_ms: int = TIMEOUT_MS) -> Health:
    """address: HOST:PORT as for --http of serve, or an http:// or https:// URL; None: from the environment."""
    given = address or environ.get("REDIS_LEDGER_HTTP") or HTTP
    scheme, _, place = given.rpartition("://")
    host, _, number = place.rstrip("/").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if scheme not in ("", "http", "https") or not (number.isascii() and number.isdigit() and 0 < int(number) < 65_536):
        return Health(False, f"{given!r} has no port: use --http 127.0.0.1:8080 with the port of serve.")
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
            return Health(False, f"not ready: no response from {shown} within {timeout_ms} ms.")
        except OSError as error:
            return Health(False, f"not ready: no broker at {shown} ({error.strerror or error}).")
        if status == 200:
            return Health(True, f"ready: {shown}")
        return Health(False, f"not ready: {_reason(status, body)}")
    return Health(False, f"not ready: {host}:{port} responds neither to HTTP nor to HTTPS.")


def _ask(host: str, port: int, tls: bool, until_s: float) -> tuple[int, bytes]:
    """Returns status and body.  Raises OSError, TimeoutError, _NotHttp."""
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
    # The certificate contains the address that clients use; this one is local.
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
        return f"/readyz returned {status}."


def tell(health: Health) -> int:
    """Prints the sentence and returns the exit code."""
    if health.is_ready:
        print(health.sentence)
        return 0
    print(f"redis-ledger: {health.sentence}", file=sys.stderr)
    return 1
