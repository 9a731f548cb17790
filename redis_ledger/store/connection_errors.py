"""Explains why a Redis cannot be reached, with the remedy.  Pure."""

from __future__ import annotations

import socket
import ssl
from typing import NamedTuple

from hiredis import ReplyError

from redis_ledger.errors import LedgerError
from redis_ledger.store.address import Address

START_IT = "Start it, or correct the Redis URL."


class Unreachable(NamedTuple):
    """reason: a clause without a full stop.  is_final: waiting does not help."""

    reason: str
    cure: str = START_IT
    is_final: bool = False

    def __str__(self) -> str:
        return f"{self.reason}. {self.cure}"


def explain(error: BaseException, address: Address | None) -> Unreachable:
    """address: of the attempt; None if no address was found."""
    text = (error.detail if isinstance(error, LedgerError) else str(error)).rstrip(".")
    has_tls = address is not None and address.tls is not None
    host = "" if address is None else address.host
    scheme = "rediss" if has_tls else "redis"
    if isinstance(error, ReplyError):
        return _of_reply(text, scheme, host)
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreachable(f"its certificate is not trusted ({getattr(error, 'verify_message', text)})",
                           "Name its authority with ?ssl_ca_certs=FILE in the URL.", True)  # fmt: skip
    if isinstance(error, ssl.SSLError):
        if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text:
            return Unreachable("it does not speak TLS", f"Write redis://{host} instead of rediss://{host}.", True)
        return Unreachable(f"the TLS handshake failed ({text})", "Look at the certificates of both sides.", True)
    if '"\\x15"' in text:  # the first byte of a TLS alert
        return Unreachable("it speaks TLS only", f"Write rediss://{host} instead of redis://{host}.", True)
    if isinstance(error, socket.gaierror):
        return Unreachable(f"the host name {host} is not known ({error.strerror})")
    if isinstance(error, TimeoutError):
        tls = f" If it does not speak TLS, write redis://{host}." if has_tls else ""
        return Unreachable("it does not answer", f"{START_IT}{tls}")
    if isinstance(error, ConnectionRefusedError) and error.errno is not None:
        return Unreachable("nothing listens there")
    if isinstance(error, FileNotFoundError):
        return Unreachable("there is no such socket")
    return Unreachable(text or type(error).__name__)


def _of_reply(text: str, scheme: str, host: str) -> Unreachable:
    word = text.partition(" ")[0]
    if word == "NOAUTH":
        cure = f"Write {scheme}://:password@{host}, or {scheme}://user:password@{host} for a user of its ACL."
        return Unreachable("it asks for a password (NOAUTH)", cure, True)
    if word == "WRONGPASS" or "AUTH <password> called without any password" in text:
        cure = f"Correct user and password in the URL: {scheme}://user:password@{host}, with %40 for an @ in them."
        return Unreachable(f"it refuses the user or password in the URL ({text})", cure, True)
    if word == "NOPERM":
        return Unreachable(f"its user may not do what is needed ({text})", "Give the user +@all ~* &*.", True)
    if word == "LOADING":
        return Unreachable("it is loading its data", "Wait until it has.")
    return Unreachable(text, START_IT, word in ("ERR",))
