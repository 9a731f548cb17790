"""What INFO tells about replicas, and what a round of WAIT proves."""

from __future__ import annotations

import pytest
from hiredis import ReplyError

from redis_ledger.store.replication_info import (
    UNKNOWN,
    Outcome,
    ReplicationInfo,
    Round,
    is_connection_error,
    judge,
    parse_replication,
)

PRIMARY = (
    b"# Replication\r\nrole:master\r\nconnected_slaves:3\r\n"
    b"slave0:ip=127.0.0.1,port=1,state=online,offset=10,lag=0\r\n"
    b"slave1:ip=127.0.0.1,port=2,state=online,offset=9,lag=7,type=replica\r\n"
    b"slave2:ip=127.0.0.1,port=3,state=wait_bgsave,offset=0,lag=0\r\nmaster_replid:aa\r\n"
)
REPLICA = PRIMARY.replace(b"role:master", b"role:slave")
OTHER = PRIMARY.replace(b"master_replid:aa", b"master_replid:bb")
BEFORE = ReplicationInfo(True, "aa", (0, 7))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (PRIMARY, BEFORE),
        (REPLICA, BEFORE._replace(is_primary=False)),
        (b"role:master\r\nconnected_slaves:0\r\nmaster_replid:aa\r\n", ReplicationInfo(True, "aa", ())),
        (b"role:master\r\nconnected_slaves:2\r\nmaster_replid:aa\r\n", ReplicationInfo(True, "aa", None)),
        (b"", UNKNOWN),
        (ReplyError("NOPERM"), UNKNOWN),
    ],
)
def test_replicas_are_read_from_info(reply, expected):
    assert parse_replication(reply) == expected


@pytest.mark.parametrize(("lags", "lag_s_max", "copies"), [((), 5, 1), ((0, 7), 5, 2), ((0, 5), 5, 3), (None, 5, None)])
def test_a_replica_that_has_not_acknowledged_for_long_is_not_in_sync(lags, lag_s_max, copies):
    assert ReplicationInfo(lags=lags).in_sync(lag_s_max) == copies


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((b"OK", 2, PRIMARY), Round(Outcome.CONFIRMED, 3)),
        ((b"OK", 1, PRIMARY), Round(Outcome.SHORT, 2)),
        ((b"OK", 0, PRIMARY), Round(Outcome.SHORT, 1)),
        ((ReplyError("NOREPLICAS Not enough good replicas to write."), 0, PRIMARY), Round(Outcome.SHORT, 1)),
        ((ReplyError("MISCONF Redis is configured to save"), 2, PRIMARY), Round(Outcome.SHORT)),
        ((ReplyError("BUSY Redis is busy"), 2, PRIMARY), Round(Outcome.SHORT)),
        ((ReplyError("MOVED 7 127.0.0.1:1"), 2, PRIMARY), Round(Outcome.NO_SLOT)),
        ((ReplyError("ASK 7 127.0.0.1:1"), 2, PRIMARY), Round(Outcome.NO_SLOT)),
        ((ReplyError("READONLY You can't write"), 0, REPLICA), Round(Outcome.LOST, None, "READONLY You can't write")),
        ((b"OK", ReplyError("UNBLOCKED force unblock"), REPLICA), Round(Outcome.LOST, None, "UNBLOCKED force unblock")),
        ((b"OK", 2, REPLICA), Round(Outcome.LOST, None, "it is a replica now")),
        ((b"OK", 2, OTHER), Round(Outcome.LOST, None, "its replication id has changed")),
        ((b"OK", 0, OTHER), Round(Outcome.LOST, None, "its replication id has changed")),
    ],
)
def test_a_round_confirms_only_what_enough_replicas_of_the_same_primary_have(replies, expected):
    assert judge(replies, BEFORE, 3, 5) == expected


def test_a_server_that_hides_info_is_judged_by_its_wait():
    assert judge((b"OK", 2, ReplyError("NOPERM")), UNKNOWN, 3, 5) == Round(Outcome.CONFIRMED)


@pytest.mark.parametrize(("reply", "expected"), [(b"OK", False), (ReplyError("X"), False), (ConnectionError(), True)])
def test_a_broken_connection_proves_nothing(reply, expected):
    assert is_connection_error(reply) == expected
