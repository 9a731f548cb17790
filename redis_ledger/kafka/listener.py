"""Kafka listeners: a bound socket, its name, and the address that it advertises to clients."""

from __future__ import annotations

import socket
import ssl
from typing import NamedTuple


class Listener(NamedTuple):
    """A bound socket that accepts Kafka connections.

    name        "" if there is only one listener
    advertised  "host:port" in metadata responses; "" advertises the bound address
    tls         only TLS connections are accepted if it is set
    """

    bound: socket.socket
    name: str = ""
    advertised: str = ""
    tls: ssl.SSLContext | None = None

    @property
    def address(self) -> str:
        host, port = self.bound.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
