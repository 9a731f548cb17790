"""HTTP transport of the SDK for large bodies: Python's own HTTP client in place of httpx's.

httpx passes a body on in small pieces, each a Python object; a gigabyte takes a second of CPU, and a third of that this
way.  The SDK keeps retries, failover between brokers and errors; this transport carries one request.
"""

from __future__ import annotations

import atexit
import contextlib
import http.client
import select
import socket
import ssl
from collections import deque
from dataclasses import replace
from typing import TypeAlias

import httpx

from redis_ledger.client._sync.transport import Transport
from redis_ledger.client.trust import believed
from redis_ledger.spark.read_options import Connection

Address: TypeAlias = tuple[str, str, int | None]


class PlainHttp(httpx.BaseTransport):
    """Keeps idle connections for the next request to the same broker.  Thread-safe.

    trusted: verifies https; None: the public certificate authorities.
    """

    def __init__(self, trusted: ssl.SSLContext | None = None) -> None:
        self._trusted = trusted
        self._idle: dict[Address, deque[http.client.HTTPConnection]] = {}
        self._is_closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        address = (url.scheme, url.host, url.port)
        waits = request.extensions.get("timeout", {})
        link = self._taken(address, waits.get("connect"))
        try:
            if link.sock is None:
                _connect(link, request)
            link.sock.settimeout(waits.get("read"))
            response = _exchange(link, request)
        except BaseException:
            link.close()
            raise
        if self._is_closed:
            link.close()
        elif link.sock is not None:  # the broker may have requested to close it
            self._idle[address].append(link)
        return response

    def _taken(self, address: Address, connect_s: float | None) -> http.client.HTTPConnection:
        idle = self._idle.setdefault(address, deque())
        with contextlib.suppress(IndexError):
            while True:
                link = idle.pop()
                # A connection that the broker has closed is readable.  A request sent on it would be lost, and it would
                # be unknown whether it was executed.
                if link.sock is not None and not select.select([link.sock], [], [], 0)[0]:
                    return link
                link.close()
        scheme, host, port = address
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=connect_s)
        if self._trusted is None:
            self._trusted = (
                ssl.create_default_context()
            )  # once: loading the public authorities takes longer than a request
        return http.client.HTTPSConnection(host, port, timeout=connect_s, context=self._trusted)

    def close(self) -> None:
        self._is_closed = True
        for idle in self._idle.values():
            while idle:
                idle.pop().close()


def _connect(link: http.client.HTTPConnection, request: httpx.Request) -> None:
    try:
        link.connect()
    except TimeoutError as error:
        raise httpx.ConnectTimeout(str(error), request=request) from error
    except OSError as error:
        raise httpx.ConnectError(str(error), request=request) from error
    link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _exchange(link: http.client.HTTPConnection, request: httpx.Request) -> httpx.Response:
    try:
        link.putrequest(request.method, request.url.raw_path.decode(), skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            if name != "accept-encoding":  # the body is not decompressed here
                link.putheader(name, value)
        link.endheaders(request.read() or None)
        answer = link.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read(), request=request)
    except TimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except (OSError, http.client.HTTPException) as error:
        raise httpx.ReadError(f"{type(error).__name__}: {error}", request=request) from error


_open: dict[Connection, Transport] = {}


def transport(connection: Connection) -> Transport:
    """One transport for each connection and process: Spark's workers outlive a task.  A new token from the token file
    does not replace the transport."""
    key = connection if connection.token_file is None else replace(connection, token=None)
    found = _open.get(key)
    if found is None:
        context = believed(connection.urls, authorities=connection.authorities)
        found = Transport(
            connection.urls,
            timeout_ms=connection.timeout_ms,
            token=connection.token,
            token_file=connection.token_file,
            http=PlainHttp(context if isinstance(context, ssl.SSLContext) else None),
        )
        _open[key] = found
    found.bearer.show(connection.token)
    return found


@atexit.register
def close_all() -> None:
    while _open:
        _open.popitem()[1].close()
