"""Bearer token of a client: a text, or the content of a file.

    token                  sent as it is
    token_file             read at the start, and again when a broker refuses the token; if the file has changed, the
                           request is repeated with the new token
    neither                REDIS_LEDGER_TOKEN_FILE, or else REDIS_LEDGER_TOKEN, if set

To renew a token, write the new one to the file, then revoke the old one.  Clients need no restart.
"""

from __future__ import annotations

import os
from pathlib import Path

from redis_ledger.client.security_models import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE
from redis_ledger.errors import InvalidRequest


def given(token: str | None, token_file: str | None) -> tuple[str | None, str | None]:
    """Both, with the environment's where neither is given; a token that is empty is none.  Raises InvalidRequest."""
    if token is None and token_file is None:
        token_file = os.environ.get(TOKEN_FILE_VARIABLE) or None
        token = os.environ.get(TOKEN_VARIABLE) if token_file is None else None
    if token is None and token_file is not None:
        token = read(token_file)
    if token and (not token.isascii() or not token.isprintable() or " " in token):
        raise InvalidRequest("The token holds characters that a header cannot carry.")
    return token or None, token_file


def read(file: str) -> str:
    """Raises InvalidRequest."""
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"The token file {file} cannot be read ({type(error).__name__}); correct the path."
        ) from None
    if not token:
        raise InvalidRequest(f"The token file {file} is empty: it holds a token, such as rl_...")
    return token


def header(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


class Bearer:
    """For any number of threads.  token None: nothing is shown.  token_file: where another one may be found."""

    def __init__(self, token: str | None, token_file: str | None) -> None:
        self._token, self._file = token, token_file
        self._refused: str | None = None

    @property
    def token(self) -> str | None:
        return self._token

    def show(self, token: str | None) -> None:
        """From now on, unless it has been refused."""
        if token != self._refused:
            self._token = token

    def is_renewed(self, refused: str | None) -> bool:
        """Whether there is another one than that, which a broker has just refused."""
        if self._token == refused and self._file is not None:
            try:
                self._token, _ = given(None, self._file)
            except InvalidRequest:  # half written, or not on this machine: report the original error
                return False
        if self._token == refused:
            return False
        self._refused = refused
        return True
