from __future__ import annotations

import json

import httpx
import pytest

from redis_ledger import errors
from redis_ledger.client import answers, retries
from redis_ledger.client.retries import Failure

UNBELIEVED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch. (_ssl.c:1006)"


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (httpx.ConnectError(""), Failure.NOT_SENT),
        (httpx.ConnectTimeout(""), Failure.NOT_SENT),
        (httpx.ReadError(""), Failure.LOST),
        (httpx.ReadTimeout(""), Failure.LOST),
        (httpx.WriteError(""), Failure.LOST),
        (httpx.RemoteProtocolError(""), Failure.LOST),
        (httpx.UnsupportedProtocol(""), Failure.FINAL),
        (httpx.ConnectError(UNBELIEVED), Failure.UNTRUSTED),
        (httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF"), Failure.NOT_SENT),
    ],
)
def test_connection_errors_distinguish_sent_requests_from_unsent_ones(error, failure):
    assert retries.of_connection(error) is failure


@pytest.mark.parametrize(
    ("error", "status", "failure"),
    [
        (errors.Draining(), 503, Failure.DECLINED),
        (errors.StoreUnavailable(), 503, Failure.DECLINED),
        (errors.RequestInProgress(), 409, Failure.DECLINED),
        (errors.StoreTimeout(), 504, Failure.LOST),
        (errors.OutcomeUnknown(), 504, Failure.LOST),
        (errors.NotReplicated(), 504, Failure.LOST),
        (errors.LedgerError(), 502, Failure.LOST),
        (errors.LedgerError(), 500, Failure.FINAL),
        (errors.TooManyTransactions(), 429, Failure.FINAL),
        (errors.StorageFull(), 507, Failure.DECLINED),
        (errors.ConsumerBusy(), 409, Failure.FINAL),
        (errors.UnknownTopic(), 404, Failure.FINAL),
    ],
)
def test_problem_has_its_retriability(error, status, failure):
    assert retries.of_problem(error, status) is failure


def test_only_a_lost_answer_depends_on_whether_repeating_is_safe():
    assert [f for f in Failure if retries.may_repeat(f, repeatable=False)] == [
        Failure.NOT_SENT,
        Failure.DECLINED,
        Failure.UNTRUSTED,
    ]
    assert [f for f in Failure if retries.may_repeat(f, repeatable=True)] == [
        Failure.NOT_SENT,
        Failure.DECLINED,
        Failure.LOST,
        Failure.UNTRUSTED,
    ]


def test_other_brokers_are_asked_at_once_and_rounds_wait_longer_and_longer():
    waits = [retries.wait_s(attempt, 3, roll=1.0) for attempt in range(1, 10)]
    assert waits == [0.0, 0.0, 0.05, 0.0, 0.0, 0.1, 0.0, 0.0, 0.2]
    assert retries.wait_s(1_000, 1, roll=1.0) == retries.WAIT_S_MAX
    assert retries.wait_s(1_000, 1, roll=0.0) == retries.WAIT_S_MAX / 2


@pytest.mark.parametrize("known", [cls for cls in errors.leaves() if cls.__module__.startswith(errors.__name__)])
def test_every_problem_comes_back_as_the_class_it_was(known):
    # Given the problem document of an error, with a fact
    body = {"code": known.code, "detail": "Why.", "title": "T", "status": 400, "topic": "orders"}
    # When it is read
    error = answers.error_of("GET", "/v1/x", httpx.Response(400, content=json.dumps(body).encode()))
    # Then class, sentence and fact are there
    assert type(error) is known
    assert error.detail == "Why."
    assert error.facts["topic"] == "orders"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (502, b"<html>Bad Gateway</html>", errors.LedgerError),
        (504, b"", errors.LedgerError),
        (503, b'{"code": "from_the_future", "detail": "x", "seen": 1}', errors.LedgerError),
        (409, b'{"code": "from_the_future", "detail": "x", "seen": 1}', errors.LedgerError),
        (404, b"[1]", errors.UnexpectedAnswer),
        (404, b"<html>Not Found</html>", errors.UnexpectedAnswer),
        (307, b"", errors.UnexpectedAnswer),
    ],
)
def test_an_answer_that_is_no_problem_of_ours_says_what_it_is(status, body, kind):
    error = answers.error_of("GET", "/v1/x", httpx.Response(status, content=body))
    assert type(error) is kind
    assert error.detail != ""
    assert error.facts.get("seen") == (1 if b"seen" in body else None)
