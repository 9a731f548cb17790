"""Limits of connections fit the limit of open files."""

from __future__ import annotations

import resource

import pytest

from redis_ledger.app.process import open_files
from redis_ledger.config import Config


@pytest.mark.parametrize(
    ("files", "http", "kafka", "fitting"),
    [
        (1_224, 10_000, 10_000, (500, 500)),
        (1_224, 100, 10_000, (100, 900)),
        (1_224, 10_000, 100, (900, 100)),
        (1_224, 100, 100, (100, 100)),
        (256, 10_000, 10_000, (64, 64)),
    ],
)
def test_connections_leave_files_for_redis(files, http, kafka, fitting):
    found = open_files.fitted(Config(http_connections_max=http, kafka_connections_max=kafka), files)
    assert (found.http_connections_max, found.kafka_connections_max) == fitting


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "is_lowered"),
    [
        (1_024, 500_000, 20_224, False),
        (1_024, resource.RLIM_INFINITY, 20_224, False),
        (1_024, 4_096, 4_096, True),
        (4_096, 4_096, 4_096, True),
        (30_000, 30_000, None, False),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, False),
    ],
)
def test_the_limit_is_raised_as_far_as_needed(monkeypatch, soft, hard, raised, is_lowered):
    limits = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    assert (open_files.with_enough_files(Config()) != Config()) == is_lowered
    assert limits in ([], [(raised, hard)])
    assert bool(limits) == (raised is not None and raised != soft)


def test_a_system_that_refuses_the_limit_gets_fewer_connections(monkeypatch):
    def refuse(which: int, limit: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert open_files.with_enough_files(Config()).http_connections_max == 64
