"""Which failed request may be sent again, to whom, and how long to wait first.

    failure    what is known                                    sent again
    NOT_SENT   no connection: no broker saw it                  always
    DECLINED   a broker said: not now, nothing was done         always
    LOST       it was sent, and the answer is missing           only if repeating cannot do it twice
    UNTRUSTED  no broker saw it: its certificate is not         until all have shown such a one, one after the other
               believed
    FINAL      a broker said no                                 never

With several brokers the next one is asked at once; only after a whole round of them does the client wait, twice as long
each round up to a second, with jitter so that many clients do not come back together.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import httpx
import msgspec

from redis_ledger import errors
from redis_ledger.errors import LedgerError, Unavailable, by_code

WAIT_S_FIRST = 0.025
WAIT_S_MAX = 1.0

# Conditions that pass within a moment.  Storage that is full, too many transactions or a busy exclusive subscription
# may last, and the caller knows better than a loop what to do about them.
PASSING = (
    errors.StoreUnavailable.code,
    errors.Draining.code,
    errors.Unavailable.code,
    errors.RequestInProgress.code,
    errors.TopicBusy.code,
    errors.QuotaExceeded.code,  # the answer says how long: see asked_to_wait_s
)

# The broker itself did not hear from Redis, and Redis may have done it.
UNDECIDED = (errors.StoreTimeout.code, errors.OutcomeUnknown.code)

UNTRUSTED = "CERTIFICATE_VERIFY_FAILED"  # what OpenSSL says; httpx keeps the text, and not the exception


class Failure(Enum):
    NOT_SENT = 1
    DECLINED = 2
    LOST = 3
    FINAL = 4
    UNTRUSTED = 5


def of_connection(error: httpx.TransportError) -> Failure:
    if UNTRUSTED in str(error):
        return Failure.UNTRUSTED
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
        return Failure.NOT_SENT
    return Failure.FINAL if isinstance(error, httpx.UnsupportedProtocol) else Failure.LOST


def of_problem(error: LedgerError, status: int) -> Failure:
    if error.code in PASSING:
        return Failure.DECLINED
    # 502 and 504 without a code of ours come from a proxy, which cannot know what the broker did.
    if error.code in UNDECIDED or (type(error) is LedgerError and status in (502, 503, 504)):
        return Failure.LOST
    return Failure.FINAL


def may_repeat(failure: Failure, repeatable: bool) -> bool:
    return failure in (Failure.NOT_SENT, Failure.DECLINED, Failure.UNTRUSTED) or (
        failure is Failure.LOST and repeatable
    )


def wait_s(attempt: int, brokers: int, roll: float) -> float:
    """Seconds to wait after the attempt-th failure (from 1).  roll: a random number in [0, 1)."""
    rounds, place = divmod(attempt, brokers)
    if place:
        return 0.0
    longest = min(WAIT_S_MAX, WAIT_S_FIRST * 2.0 ** min(rounds, 16))
    return longest * (0.5 + roll / 2)


def asked_to_wait_s(error: Exception) -> float:
    """How long a broker asked to wait, beyond what `wait_s` says."""
    asked = error.facts.get("retry_after_s", 0) if isinstance(error, errors.QuotaExceeded) else 0
    return float(asked) if isinstance(asked, (int, float)) else 0.0


class Problem(msgspec.Struct):
    """What of an RFC 9457 problem every answer has; the other members are facts."""

    code: str = ""
    detail: str = ""
    title: str = ""


MEMBERS = frozenset({"type", "title", "status", "detail", "code", "retriable", "instance"})


def error_of(status: int, body: bytes) -> LedgerError:
    """The exception that an answer with this status and body stands for."""
    facts: dict[str, Any] = {}
    try:
        problem = msgspec.json.decode(body, type=Problem)
        facts = {name: fact for name, fact in msgspec.json.decode(body).items() if name not in MEMBERS}
    except (msgspec.MsgspecError, AttributeError):
        text = body[:200].decode("utf-8", "replace").strip()
        problem = Problem(detail=f"The answer had status {status} and is not a problem of ours: {text}")
    detail = problem.detail or problem.title or f"The answer had status {status}."
    known = by_code().get(problem.code)
    if known is None:
        return LedgerError(detail, http_status=status, problem_code=problem.code, **facts)
    # A class may ask for particular facts where it is raised; here the facts are those of the answer.
    error = known.__new__(known)
    LedgerError.__init__(error, detail, **facts)
    return error


HUNG_UP = "with TLS an address begins with https://, and Kafka clients have a port of their own"
# What is in the reason of a connection that failed → what to do.
CURES = (
    (UNTRUSTED, "its certificate is not trusted here: SSL_CERT_FILE or ca_file name an authority"),
    ("SSL", "a broker without TLS has an address that begins with http://"),
    ("disconnected without", HUNG_UP),
    ("RemoteDisconnected", HUNG_UP),
    ("", "check the address"),
)


def gave_up(method: str, path: str, last: Exception, *, lost: bool, timeout_ms: int) -> LedgerError:
    """What to raise when the time is up or repeating is not safe.  lost: an answer to a change is missing."""
    reason = last.detail if isinstance(last, LedgerError) else f"{type(last).__name__}: {last}".rstrip(": ")
    if lost:
        return errors.OutcomeUnknown(
            f"{method} {path} was sent, its answer was lost, and it may or may not have been carried out; "
            f"look before repeating it. ({reason})"
        )
    if isinstance(last, LedgerError):
        return last
    cure = next(cure for sign, cure in CURES if sign in reason)
    return Unavailable(f"{method} {path} reached no broker within {timeout_ms} ms; {cure}. ({reason})")
