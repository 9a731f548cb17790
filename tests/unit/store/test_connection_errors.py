"""Errors of unreachable Redis servers, with the remedy."""

from __future__ import annotations

import socket
import ssl

import pytest
from hiredis import ProtocolError, ReplyError

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.address import Address, Tls
from redis_ledger.store.connection_errors import explain

PLAIN, WITH_TLS = Address("r", 6379), Address("r", 6379, tls=Tls())
WRONG_VERSION = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)")


@pytest.mark.parametrize(
    ("error", "address", "reason", "cure", "is_final"),
    [
        (ReplyError("NOAUTH Authentication required."), PLAIN, "password", "redis://:password@r", True),
        (ReplyError("NOAUTH Authentication required."), WITH_TLS, "password", "rediss://:password@r", True),
        (ReplyError("WRONGPASS invalid username-password pair"), PLAIN, "refuses the user", "redis://user:", True),
        (ReplyError("NOPERM this user has no permissions"), PLAIN, "may not", "+@all", True),
        (ReplyError("LOADING Redis is loading the dataset in memory"), PLAIN, "loading its data", "Wait", False),
        (WRONG_VERSION, WITH_TLS, "does not speak TLS", "redis://r instead of rediss://r", True),
        (ssl.SSLCertVerificationError("unable to get local issuer"), WITH_TLS, "not trusted", "ssl_ca_certs", True),
        (ProtocolError('Protocol error, got "\\x15" as reply type byte'), PLAIN, "speaks TLS only", "rediss://r", True),
        (socket.gaierror(-2, "Name or service not known"), PLAIN, "host name r is not known", "correct", False),
        (TimeoutError(), PLAIN, "does not answer", "correct", False),
        (TimeoutError(), WITH_TLS, "does not answer", "If it does not speak TLS, write redis://r", False),
        (ConnectionRefusedError(111, "refused"), PLAIN, "nothing listens there", "Start it", False),
        (FileNotFoundError(2, "no"), Address(path="/s"), "no such socket", "Start it", False),
        (StoreUnavailable("no primary was found."), None, "no primary was found", "correct", False),
    ],
)  # fmt: skip
def test_each_reason_has_its_cure(error, address, reason, cure, is_final):
    why = explain(error, address)
    assert reason in why.reason
    assert cure in why.cure
    assert why.is_final is is_final
    assert not why.reason.endswith(".")
