"""Error replies of Redis, and slots of keys."""

from __future__ import annotations

import pytest
from hiredis import Reader, ReplyError
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.crc import key_slot as redis_key_slot

from redis_ledger.store.cluster import key_slot
from redis_ledger.store.connection import LARGE_BYTES, concat, pack
from redis_ledger.store.error_replies import Action, ErrorReply, classify, classify_unit, missing_script
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "course"),
    [
        ("TRYAGAIN Multiple keys request during rehashing of slot", Action.LATER),
        ("LOADING Redis is loading the dataset in memory", Action.LATER),
        ("CLUSTERDOWN The cluster is down", Action.STALE),
        ("READONLY You can't write against a read only replica.", Action.STALE),
        ("NOSCRIPT No matching script. Please use EVAL.", Action.LOAD),
        ("ERR Function not found", Action.LOAD),
        ("OOM command not allowed when used memory > 'maxmemory'.", Action.FULL),
        ("EXECABORT Transaction discarded because of: OOM command not allowed", Action.FULL),
        ("DAMAGED The queue of hash slot 1 script: redis_ledger, on @user_function:3.", Action.DAMAGED),
        ("LATE the broker has given this call up script: txn_apply, on @user_function:3.", Action.LATE),
        ("MISCONF Redis is configured to save RDB snapshots", Action.UNABLE),
        ("NOREPLICAS Not enough good replicas to write.", Action.UNABLE),
        ("WRONGTYPE Operation against a key", Action.FAULT),
        ("ERR unknown command", Action.FAULT),
        ("MOVED nonsense", Action.FAULT),
        ("", Action.FAULT),
    ],
)
def test_an_error_reply_has_one_course(text, course):
    assert classify(ReplyError(text)).course is course


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("MOVED 3999 127.0.0.1:6381", (Action.MOVED, "127.0.0.1", 6381)),
        ("ASK 3999 host.name:6381", (Action.ASK, "host.name", 6381)),
        ("MOVED 1 :7000", (Action.MOVED, "", 7000)),
        ("MOVED 1 ::1:7000", (Action.MOVED, "::1", 7000)),
        ("MOVED 1 [fe80::1]:7000", (Action.MOVED, "fe80::1", 7000)),
    ],
)
def test_a_redirection_names_its_node(text, verdict):
    found = classify(ReplyError(text))
    assert (found.course, found.host, found.port) == verdict


def test_a_unit_is_judged_by_the_first_command_that_could_not_be_queued():
    moved, aborted = (
        ReplyError("MOVED 1 h:1"),
        ReplyError("EXECABORT Transaction discarded because of previous errors."),
    )
    assert classify_unit([b"OK", b"QUEUED", moved, aborted]) == ErrorReply(Action.MOVED, "MOVED 1 h:1", "h", 1)
    assert classify_unit([b"OK", b"QUEUED", [1]]) is None


def test_a_missing_script_is_seen_among_the_results_of_a_unit():
    assert missing_script([1, ReplyError("NOSCRIPT No matching script.")]) == "NOSCRIPT No matching script."
    assert missing_script([ReplyError("WRONGTYPE"), ReplyError("ERR Function not found")]) == "ERR Function not found"
    assert not missing_script([1, ReplyError("WRONGTYPE")])
    assert not missing_script(None)


@given(st.binary(max_size=40) | st.text("{}ab", max_size=12).map(str.encode))
def test_slots_are_those_of_redis_py(key):
    assert key_slot(key) == redis_key_slot(key)


args = st.lists(
    st.binary(max_size=20)
    | st.text(max_size=10)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([bytes(LARGE_BYTES), bytes(LARGE_BYTES + 1), b"\r\n" * LARGE_BYTES]),
    min_size=1,
    max_size=6,
)


@settings(max_examples=examples(50))
@given(st.lists(args, min_size=1, max_size=3))
def test_encoded_commands_are_decoded_and_large_arguments_are_not_copied(commands):
    frame = concat([pack(command) for command in commands])
    pieces = [frame] if isinstance(frame, bytes) else frame
    # A request is an array of strings, so a reply parser can read it.
    reader = Reader()
    reader.feed(b"".join(pieces))
    for command in commands:
        assert reader.gets() == [arg if isinstance(arg, bytes) else str(arg).encode() for arg in command]
    assert reader.gets() is False
    large = [arg for command in commands for arg in command if isinstance(arg, bytes) and len(arg) > LARGE_BYTES]
    assert all(any(piece is arg for piece in pieces) for arg in large)
