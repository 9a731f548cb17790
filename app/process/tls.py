"""TLS of the HTTP and Kafka listeners: one certificate, reloaded when its files change.

    files ─read─▶ contexts (HTTP, Kafka) ◀─each new connection─ Doorway ◀─ create_server(ssl=...)
      └ changed, or SIGHUP: reloaded; an invalid pair leaves the previous one in use and is logged once

A Doorway delegates every new connection to the current context; open connections keep theirs.  TLS 1.2 and 1.3 with
forward secrecy, no compression, no renegotiation.  Client certificates, with tls_client_ca: requested, not required,
and validated if present.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.auth.certificates import WAYS, Named, named_by
from redis_ledger.config import Config
from redis_ledger.telemetry.logs import RateLimitedLog, get

LOOK_EVERY_S = 1.0
HANDSHAKE_S_MAX = 10.0
CLOSING_S_MAX = 5.0  # how long the end of a connection may take
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2; all of 1.3 are accepted
ALPN = {"http": ["http/1.1"], "kafka": []}
PLAIN = {
    "HTTP_REQUEST",
    "WRONG_VERSION_NUMBER",
    "UNSUPPORTED_PROTOCOL",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
}

_log = get()
_limited_log = RateLimitedLog()


class _Link(ssl.SSLObject):
    """TLS of one connection; logs failed handshakes, which event loops do not."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            reason = str(error.reason or error)
            if reason in PLAIN:
                reason = f"not a TLS handshake ({reason}); configure the client to use https or SSL"
            _limited_log.warning("a TLS handshake failed", door=getattr(self.context, "door", ""), reason=reason[:200])
            raise


class _Context(ssl.SSLContext):
    door: str


class Doorway(ssl.SSLContext):
    """The context of a listener; uses the current certificate for every new connection."""

    current: Callable[[], ssl.SSLContext]

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        return self.current().wrap_bio(*arguments, **options)


class Tls:
    """The certificate of both listeners.  Raises CommandError if it is invalid."""

    def __init__(self, config: Config) -> None:
        self._certificate, self._key = Path(config.tls_certificate), Path(config.tls_key)
        self._client_ca = Path(config.tls_client_ca) if config.tls_client_ca else None
        self._way = config.tls_principal
        self._seen = self._stamp()
        self._contexts = self._read()
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    def given(cls, config: Config) -> Tls | None:
        """None without TLS.  Raises CommandError for inconsistent settings."""
        if config.tls_principal not in WAYS:
            raise CommandError(f"tls_principal={config.tls_principal} is invalid: use cn or dn.")
        if not config.tls_certificate and not config.tls_key:
            if config.tls_client_ca:
                raise CommandError("tls_client_ca requires tls_certificate and tls_key.")
            return None
        if not config.tls_certificate or not config.tls_key:
            raise CommandError("tls_certificate and tls_key must be set together.")
        return cls(config)

    def doorway(self, door: str) -> ssl.SSLContext:
        """door: "http" or "kafka"."""
        made = Doorway(ssl.PROTOCOL_TLS_SERVER)
        made.current = lambda: self._contexts[door]
        return made

    def named_by(self, certificate: Any) -> Named | None:
        """The principal of a verified client certificate, as from `getpeercert()`."""
        return named_by(certificate, self._way) if certificate and self._client_ca is not None else None

    async def watch(self) -> None:
        """Reloads changed files once they are unchanged for one interval, since certificate and key are two files.

        Runs until cancelled.
        """
        before = self._seen
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            now = self._stamp()
            if now == before and now != self._seen:
                self.read_again()
            before = now

    def read_again(self) -> None:
        """Reloads the files for new connections; keeps the previous certificate if they are invalid."""
        self._seen = self._stamp()
        try:
            self._contexts = self._read()
        except CommandError as refusal:
            _log.warning("the changed TLS certificate is invalid; the previous one stays in use", reason=str(refusal))
        else:
            _log.info("the TLS certificate was reloaded", certificate=str(self._certificate))

    def _stamp(self) -> tuple[Any, ...]:
        """Changes when a file is written or replaced, also behind symbolic links as in Kubernetes."""
        found: list[Any] = []
        for path in (self._certificate, self._key, self._client_ca):
            try:
                stat = None if path is None else path.stat()
            except OSError:
                stat = None
            found.append(stat and (stat.st_mtime_ns, stat.st_size, stat.st_ino))
        return tuple(found)

    def _read(self) -> dict[str, ssl.SSLContext]:
        return {door: self._context(door) for door in ALPN}

    def _context(self, door: str) -> ssl.SSLContext:
        context = _Context(ssl.PROTOCOL_TLS_SERVER)
        context.door = door
        context.sslobject_class = _Link
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
        context.set_ciphers(CIPHERS)
        if ALPN[door]:
            context.set_alpn_protocols(ALPN[door])
        for path, name in ((self._certificate, "tls_certificate"), (self._key, "tls_key")):
            _readable(path, name)
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise CommandError(
                f"tls_certificate {self._certificate} and tls_key {self._key} cannot be used "
                f"({_why(error)}): give a PEM chain and its unencrypted PEM key."
            ) from error
        if self._client_ca is not None:
            _readable(self._client_ca, "tls_client_ca")
            try:
                context.load_verify_locations(self._client_ca)
            except (ssl.SSLError, OSError) as error:
                raise CommandError(
                    f"tls_client_ca {self._client_ca} cannot be used ({_why(error)}): give PEM certificates of the "
                    "authorities that sign client certificates."
                ) from error
            context.verify_mode = ssl.CERT_OPTIONAL
        return context


def _no_password() -> str:
    """Called for an encrypted key; otherwise OpenSSL would prompt on the terminal."""
    raise ValueError("the key is encrypted")


def _readable(path: Path, name: str) -> None:
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise CommandError(
            f"{name} is {path}, which cannot be read ({error.strerror}): correct the path or its permissions."
        ) from error


def _why(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)
