"""https: whose certificates a client believes, and which one it shows itself.

ca_file               authorities; else those of SSL_CERT_FILE, or the public ones
cert_file, key_file   a client certificate with its chain, and its key if that is not in the same file; else those of
                      REDIS_LEDGER_CERT_FILE and REDIS_LEDGER_KEY_FILE; if there are none, none is shown
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import httpx

from redis_ledger.errors import InvalidRequest

VARIABLE = "SSL_CERT_FILE"  # as OpenSSL and many others read it
CERT_VARIABLE, KEY_VARIABLE = "REDIS_LEDGER_CERT_FILE", "REDIS_LEDGER_KEY_FILE"

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def believed(
    urls: Sequence[str],
    ca_file: str | None = None,
    authorities: str | None = None,
    cert_file: str | None = None,
    key_file: str | None = None,
) -> ssl.SSLContext | bool:
    """True: the public authorities, and no certificate shown.  authorities: the text of a ca_file.
    Raises InvalidRequest if a file cannot be used."""
    file = ca_file or os.environ.get(VARIABLE)
    if cert_file is None and key_file is None:
        cert_file, key_file = os.environ.get(CERT_VARIABLE), os.environ.get(KEY_VARIABLE)
    if not any(url.startswith("https://") for url in urls) or not (authorities or file or cert_file or key_file):
        return True
    pem = authorities or (read(file) if file else None)
    context = httpx.create_ssl_context(trust_env=False) if pem is None else _context(pem)
    if cert_file or key_file:
        _show(context, cert_file, key_file)
    return context


@cache
def public_authorities() -> ssl.SSLContext:
    """One for all clients and connections of a process: reading the authorities takes 20 ms of a processor."""
    return httpx.create_ssl_context(trust_env=False)


def _show(context: ssl.SSLContext, cert_file: str | None, key_file: str | None) -> None:
    """Raises InvalidRequest."""
    if not cert_file:
        raise InvalidRequest("key_file is given without cert_file: name the certificate, too.")
    try:
        context.load_cert_chain(cert_file, key_file or None, password=_no_password)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
        both = f"{cert_file} with the key in {key_file}" if key_file else cert_file
        raise InvalidRequest(
            f"The client certificate {both} cannot be used ({why}); give PEM files of it and of its unencrypted key."
        ) from error


def _no_password() -> str:
    raise ValueError("the key is encrypted")  # instead of a prompt at the terminal


def read(file: str) -> str:
    """The certificates that it holds, and nothing else of it.  Raises InvalidRequest."""
    try:
        found = _CERTIFICATE.findall(Path(file).read_text(encoding="latin-1"))
        if not found:
            raise ValueError("it holds no certificate")
        _context(pem := "\n".join(found))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
        raise InvalidRequest(f"The authorities in {file} cannot be read ({why}); give a PEM file.") from error
    return pem


def _context(pem: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=pem)
