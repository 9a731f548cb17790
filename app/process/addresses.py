"""Addresses: HOST:PORT options, listening sockets, and Redis URLs without secrets."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from typing import NamedTuple

from redis_ledger.app.process.command_error import CommandError


class HostPort(NamedTuple):
    host: str
    port: int

    @classmethod
    def parse(cls, text: str, option: str) -> HostPort:
        """Reads 127.0.0.1:8080, localhost:0 and [::1]:8080.  Raises CommandError."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
            raise CommandError(
                f"{option} {text!r} is not HOST:PORT: for example 127.0.0.1:8080, or port 0 for any free port."
            )
        return cls(host, int(port))

    def check_reachable(self, option: str) -> HostPort:
        """An advertised address needs a host and a port.  Raises CommandError."""
        if self.port == 0 or self.host in ("0.0.0.0", "::", "0"):
            raise CommandError(
                f"{option} {self} cannot be advertised: give a reachable host name or IP address and port."
            )
        return self

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self}"

    @property
    def https_url(self) -> str:
        return f"https://{self}"


def is_loopback(host: str) -> bool:
    """Whether the host resolves to loopback addresses only; False if it cannot be resolved."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(each).partition("%")[0]).is_loopback for each in found)


def check_not_open(address: HostPort, option: str) -> None:
    """For brokers without authentication: the address must be loopback.  Raises CommandError."""
    if not is_loopback(address.host):
        raise CommandError(
            f"Other machines can reach {option} {address}, and authentication is disabled: turn auth_required on "
            "(docs/howto/secure.md), listen on 127.0.0.1, or use --allow-anonymous to allow everyone everything."
        )


def listen(address: HostPort, option: str) -> tuple[socket.socket, HostPort]:
    """A bound socket and its address with the actual port.  Raises CommandError."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, where = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(where)
            bound.listen(2048)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        why = {
            errno.EADDRINUSE: "it is in use: stop the other process, or choose another port (0: any free port)",
            errno.EACCES: "that port needs privileges: choose one from 1024 up",
            errno.EADDRNOTAVAIL: "this machine has no such address: choose 127.0.0.1 or 0.0.0.0",
        }.get(error.errno or 0, f"{error.strerror}: choose another address")
        raise CommandError(f"Cannot listen on {option} {address}, {why}.") from error
    bound.setblocking(False)
    return bound, HostPort(address.host, bound.getsockname()[1])


def default_advertised(bound: socket.socket, address: HostPort) -> HostPort:
    """The default advertised address of a bound socket.

    For a wildcard address it is the source address of this machine's default route, or loopback without one.  No name
    is looked up and nothing is sent.
    """
    if not ipaddress.ip_address(bound.getsockname()[0]).is_unspecified:
        return address
    ways = [(socket.AF_INET6, "2001:db8::1")] if bound.family == socket.AF_INET6 else []
    for family, far in (*ways, (socket.AF_INET, "192.0.2.1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((far, 9))
            return address._replace(host=way.getsockname()[0])
    return address._replace(host="127.0.0.1")


def without_secrets(redis_url: str) -> str:
    """The URL without user, password and query."""
    scheme, _, rest = redis_url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
