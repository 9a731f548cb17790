"""Which authorities a client believes when a broker shows its certificate (https)."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence

from redis_ledger.errors import InvalidRequest

VARIABLE = "SSL_CERT_FILE"  # as OpenSSL and many others read it


def believed(urls: Sequence[str], ca_file: str | None) -> ssl.SSLContext | bool:
    """ca_file: PEM certificates of authorities; None: those of SSL_CERT_FILE, or if it is not set the public ones.
    Raises InvalidRequest if the file cannot be used."""
    file = ca_file or os.environ.get(VARIABLE)
    if not file or not any(url.startswith("https://") for url in urls):
        return True
    try:
        return ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
        raise InvalidRequest(f"The authorities in {file} cannot be read ({why}); give a PEM file.") from error
