"""Redis URLs: parses a URL into addresses, credentials and TLS settings.

    redis://user:pass@host:6379/0          one server             rediss:// the same over TLS
    unix:///run/redis.sock?db=0            one server, unix socket
    redis+sentinel://h:26379,h2/mymaster   the primary that the sentinels report
    redis+cluster://h:6379,h2:6380         a cluster, discovered from any of these nodes

`rediss+sentinel` and `rediss+cluster` are the same over TLS.  Supported options: `db`, `ssl_cert_reqs` (required or
none), `ssl_check_hostname`, `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`, and `sentinel_username`,
`sentinel_password` for the sentinels themselves.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal
from urllib.parse import parse_qs, unquote

Kind = Literal["single", "sentinel", "cluster"]
_KINDS: dict[str, Kind] = {"": "single", "sentinel": "sentinel", "cluster": "cluster"}
_QUERIES = frozenset(
    {
        "db", "ssl_cert_reqs", "ssl_check_hostname", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile",
        "sentinel_username", "sentinel_password",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS settings: trust in the server, and the client certificate."""

    verify: bool = True
    check_hostname: bool = True
    ca_certs: str | None = None
    certfile: str | None = None
    keyfile: str | None = None

    def context(self) -> ssl.SSLContext:
        return _context(self)


@cache
def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.ca_certs)
    context.check_hostname = tls.check_hostname and tls.verify
    context.verify_mode = ssl.CERT_REQUIRED if tls.verify else ssl.CERT_NONE
    if tls.certfile:
        context.load_cert_chain(tls.certfile, tls.keyfile)
    return context


@dataclass(frozen=True, slots=True)
class Address:
    """One server with its credentials.  path: a unix socket, which takes precedence over host and port."""

    host: str = "127.0.0.1"
    port: int = 6379
    path: str | None = None
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    db: int = 0
    tls: Tls | None = None

    @property
    def name(self) -> str:
        """The name in messages and in comparisons with a cluster's node names; without secrets."""
        return self.path or (f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}")

    def at(self, host: str, port: int) -> Address:
        """Returns another node of the same deployment, with the same credentials and TLS."""
        return replace(self, host=host, port=port, path=None)


@dataclass(frozen=True, slots=True)
class Target:
    """A whole deployment.

    seeds    the server, the sentinels, or some nodes of the cluster
    service  the sentinels' name of the primary; primary: its credentials and TLS
    """

    kind: Kind
    seeds: tuple[Address, ...]
    service: str = ""
    primary: Address = Address()


def parse_url(url: str) -> Target:
    """Raises ValueError with a sentence for users if the URL is invalid."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ValueError(f"{_safe(url)!r} is not a Redis URL; it looks like redis://127.0.0.1:6379.")
    rest, _, query = rest.partition("?")
    options = {name: values[-1] for name, values in parse_qs(query, keep_blank_values=True).items()}
    if unknown := sorted(set(options) - _QUERIES):
        raise ValueError(
            f"the Redis URL has the unknown option {unknown[0]!r}; known are {', '.join(sorted(_QUERIES))}."
        )
    who, at, where = rest.rpartition("@")
    username, _, password = who.partition(":") if at else ("", "", "")
    credentials = Address(
        username=unquote(username) or None,
        password=unquote(password) or None,
        db=_number(options.get("db", "0"), "database"),
    )
    if scheme in ("unix", "redis+unix"):
        if not where.startswith("/"):
            raise ValueError(f"{_safe(url)!r} names no absolute socket path; write unix:///run/redis.sock.")
        return Target("single", (replace(credentials, path=unquote(where)),))
    family, _, kind_name = scheme.partition("+")
    if family not in ("redis", "rediss") or kind_name not in _KINDS:
        raise ValueError(
            f"{scheme}:// is not a Redis scheme; use redis, rediss, unix, redis+sentinel or redis+cluster."
        )
    kind = _KINDS[kind_name]
    if family == "rediss":
        credentials = replace(credentials, tls=_tls(options))
    hosts, _, path = where.partition("/")
    if kind == "sentinel":
        sentinel = replace(
            credentials,
            username=options.get("sentinel_username"),
            password=options.get("sentinel_password"),
            db=0,
        )
        service, _, db = path.partition("/")
        if not service:
            raise ValueError("a sentinel URL ends with the name of its primary: redis+sentinel://host:26379/mymaster.")
        if db:
            credentials = replace(credentials, db=_number(db, "database"))
        return Target(kind, _hosts(hosts, sentinel, 26379), unquote(service), credentials)
    if path:
        credentials = replace(credentials, db=_number(path, "database"))
    if kind == "cluster" and credentials.db:
        raise ValueError("a Redis Cluster has only database 0; leave the number out of the URL.")
    seeds = _hosts(hosts, credentials, 6379)
    if kind == "single" and len(seeds) > 1:
        raise ValueError("a redis:// URL names one server; for several use redis+cluster:// or redis+sentinel://.")
    return Target(kind, seeds)


def _tls(options: dict[str, str]) -> Tls:
    return Tls(
        verify=options.get("ssl_cert_reqs", "required") != "none",
        check_hostname=options.get("ssl_check_hostname", "true").lower() not in ("false", "0", "no"),
        ca_certs=options.get("ssl_ca_certs"),
        certfile=options.get("ssl_certfile"),
        keyfile=options.get("ssl_keyfile"),
    )


def _hosts(text: str, like: Address, port: int) -> tuple[Address, ...]:
    return tuple(_host(part, like, port) for part in (text or "127.0.0.1").split(","))


def _host(text: str, like: Address, port: int) -> Address:
    if text.startswith("["):
        host, _, tail = text[1:].partition("]")
        number = tail.removeprefix(":")
    else:
        host, _, number = text.partition(":")
    return like.at(unquote(host) or "127.0.0.1", _number(number, "port") if number else port)


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65_535:
        raise ValueError(f"{text!r} in the Redis URL is not a {what} number.")
    return int(text)


def _safe(url: str) -> str:
    """Returns the URL without anything that could be a password."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"[:200]
