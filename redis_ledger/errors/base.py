"""The root of the tree and its four great branches."""

from __future__ import annotations

from typing import Any, ClassVar


class LedgerError(Exception):
    """The request failed. The detail says why."""

    code: ClassVar[str] = "internal_error"
    http_status: ClassVar[int] = 500
    kafka_code: ClassVar[int] = -1
    retriable: ClassVar[bool] = False

    def __init__(self, detail: str | None = None, **facts: Any) -> None:
        """detail: what happened and what to do, in one or two sentences.  facts: further members of the problem."""
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.facts = facts
        super().__init__(self.detail)

    @classmethod
    def title(cls) -> str:
        return " ".join((cls.__doc__ or cls.__name__).split()).split(". ")[0].rstrip(".")


class BadRequest(LedgerError):
    """The request is not valid. Change it before sending it again."""

    code, http_status, kafka_code = "bad_request", 400, 42


class NotFound(LedgerError):
    """The named resource does not exist. Check the name."""

    code, http_status, kafka_code = "not_found", 404, 3


class Conflict(LedgerError):
    """The request conflicts with the current state. Read the state before trying again."""

    code, http_status, kafka_code = "conflict", 409, -1


class Unavailable(LedgerError):
    """The broker cannot serve this request right now. Try again; the request was not executed."""

    # REQUEST_TIMED_OUT: clients and applications repeat it.  BROKER_NOT_AVAILABLE is final to Java and franz-go.
    code, http_status, kafka_code, retriable = "unavailable", 503, 7, True
