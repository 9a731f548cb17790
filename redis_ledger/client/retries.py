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

import httpx

from redis_ledger import errors
from redis_ledger.client import answers
from redis_ledger.errors import LedgerError, Unavailable

WAIT_S_FIRST = 0.025
WAIT_S_MAX = 1.0

# Conditions that pass within a moment: storage that is full, as soon as retention has made room, and too few replicas,
# as soon as one has caught up.  A Redis that is unfit waits for its operator; too many transactions or a busy exclusive
# subscription may last, and the caller knows better than a loop what to do about them.
PASSING = (
    errors.StoreUnavailable.code,
    errors.Draining.code,
    errors.Unavailable.code,
    errors.RequestInProgress.code,
    errors.TopicBusy.code,
    errors.StorageFull.code,
    errors.TooFewReplicas.code,
    errors.QuotaExceeded.code,  # the answer says how long: see asked_to_wait_s
)

# The broker itself did not hear from Redis, and Redis may have done it.
UNDECIDED = (errors.StoreTimeout.code, errors.OutcomeUnknown.code, errors.NotReplicated.code)

ROOM_S = 1.0  # Retry-After of a Redis that is full; all brokers have the same

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
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return Failure.NOT_SENT
    return Failure.FINAL if isinstance(error, httpx.UnsupportedProtocol) else Failure.LOST


def of_problem(error: LedgerError, status: int) -> Failure:
    if error.code in PASSING:
        return Failure.DECLINED
    # A proxy cannot know what the broker did.
    if error.code in UNDECIDED or (type(error) is LedgerError and status in answers.OF_PROXIES):
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
    if isinstance(error, errors.StorageFull):
        return ROOM_S
    asked = error.facts.get("retry_after_s", 0) if isinstance(error, errors.QuotaExceeded) else 0
    return float(asked) if isinstance(asked, (int, float)) else 0.0


HUNG_UP = "with TLS an address begins with https://, and Kafka clients have a port of their own"
# What is in the reason of a connection that failed → what to do.
CURES = (
    (UNTRUSTED, "its certificate is not trusted here: SSL_CERT_FILE or ca_file name an authority"),
    ("SSL", "a broker without TLS has an address that begins with http://"),
    ("disconnected without", HUNG_UP),
    ("RemoteDisconnected", HUNG_UP),
    ("ProtocolError", "check the address, and any proxy on the way: a broker's answers are complete HTTP"),
    ("", "check the address"),
)


def no_slot(method: str, path: str, *, is_poll: bool, lost: bool, timeout_ms: int) -> LedgerError:
    """What to raise when other requests of the same client had all slots until the time was up."""
    limit = "polls_max" if is_poll else "requests_max"
    detail = (
        f"{method} {path} waited {timeout_ms} ms for other requests of this client; raise timeout_ms or {limit}, or "
        "make fewer calls at once."
    )
    if lost:
        return errors.OutcomeUnknown(f"{detail} An earlier attempt may have been carried out.")
    return Unavailable(f"{detail} Nothing was sent.")


def gave_up(method: str, path: str, last: Exception, *, lost: bool, timeout_ms: int) -> LedgerError:
    """What to raise when the time is up or repeating is not safe.  lost: an answer to a change is missing."""
    reason = last.detail if isinstance(last, LedgerError) else f"{type(last).__name__}: {last}".rstrip(": ")
    if lost:
        return errors.OutcomeUnknown(
            f"{method} {path} was sent, its answer was lost, and it may or may not have been carried out; "
            f"look before repeating it. ({reason})"
        )
    if type(last) is LedgerError:  # a proxy's answer
        return Unavailable(last.detail)
    if isinstance(last, LedgerError):
        return last
    cure = next(cure for sign, cure in CURES if sign in reason)
    return Unavailable(f"{method} {path} reached no broker within {timeout_ms} ms; {cure}. ({reason})")
