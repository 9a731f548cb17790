"""Which authorities a client believes when a broker shows its certificate (https)."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Sequence
from pathlib import Path

from redis_ledger.errors import InvalidRequest

VARIABLE = "SSL_CERT_FILE"  # as OpenSSL and many others read it

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def believed(urls: Sequence[str], ca_file: str | None = None, authorities: str | None = None) -> ssl.SSLContext | bool:
    """ca_file: PEM certificates of authorities; authorities: their text.  With neither, those of SSL_CERT_FILE, or the
    public ones if it is not set.  Raises InvalidRequest if the file cannot be used."""
    file = ca_file or os.environ.get(VARIABLE)
    if not any(url.startswith("https://") for url in urls) or not (authorities or file):
        return True
    return _context(authorities or read(str(file)))


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
