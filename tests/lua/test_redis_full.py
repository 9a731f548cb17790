"""Scripts and commands at maxmemory: all work except those that add data.  Each script and each plain command is
listed on one side; a new function is added to one of the lists here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import redis

import redis_ledger
from redis_ledger.store.scripts import Script

# These add data: Redis refuses them when it is full.
ADDS_DATA = {
    "ledger/append",  # records
    "ledger/append_sidecar",  # records of transactions
    "ledger/schedule",  # records that are due later
    "ledger/catalog",  # a topic, or partitions of one
    "ledger/create",  # the keys of a partition
    "ledger/snapshot",  # of what the log says: it can be taken later
    "cursor/restore",  # acknowledgements of a snapshot
    "delay/move",  # an index entry beside the one that is there
}
# Plain commands that Redis refuses when it is full, and why that is right.
PLAIN = {
    ("backup/restoring.py", "RESTORE"): "data of a backup; restore ends with the error",
    ("broker/idempotency.py", "SET"): "keys of requests that add records; others go by broker/write_allow_oom",
    ("ledger/append_calls.py", "XADD"): "payload",
    ("ledger/append_request.py", "XADD"): "payload",
    ("store/admission.py", "SET"): "copies of the cluster id, written again at the next look",
    ("store/admission.py", "HSET"): "the number of these copies, written again at the next look",
    ("store/checks.py", "SET"): "a probe",
}

# Packages whose tuples of commands are arguments of a script, fsck/write, which a full Redis carries out.
REPAIRS = {"fsck"}


def test_a_full_redis_carries_out_every_script_but_those_that_add_data():
    allowed = (b"#!lua flags=allow-oom\n", b"#!lua flags=no-writes\n")
    refused = {script.name for script in Script.all() if not script.source.startswith(allowed)}
    assert refused == ADDS_DATA


def test_a_full_redis_refuses_no_plain_command_but_those_that_add_data(redis_url):
    """The server itself says which commands it refuses."""
    with redis.Redis.from_url(redis_url) as client:
        rows = client.execute_command("COMMAND")
    rows = rows.values() if isinstance(rows, dict) else rows
    refused = {str(name).upper() for name, flags in map(name_and_flags, rows) if "denyoom" in flags}
    assert {"SET", "HSET", "HSETNX", "SADD", "XADD", "ZADD"} <= refused
    root = Path(redis_ledger.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), word)
        for path in sorted(root.rglob("*.py"))
        for word in plain_commands(ast.parse(path.read_text()), tuples=path.parent.name not in REPAIRS)
        if word in refused
    }
    assert found == set(PLAIN)


def name_and_flags(row) -> tuple[str, set[str]]:
    if isinstance(row, dict):
        return row["name"], set(row["flags"])
    return text(row[0]), {text(flag) for flag in row[2]}


def text(value) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def plain_commands(tree: ast.AST, *, tuples: bool) -> Iterator[str]:
    """The first word of each call and each tuple, but of those that a full Redis carries out."""
    for node in ast.walk(tree):
        first: ast.expr | None = None
        if tuples and isinstance(node, ast.Tuple) and len(node.elts) > 1:
            first = node.elts[0]
        elif isinstance(node, ast.Call) and node.args and not allows_oom(node.func):
            first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, (str, bytes)):
            yield text(first.value)


def allows_oom(func: ast.expr) -> bool:
    """Store.write_allow_oom, and the arguments of fsck/write."""
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    return name in ("write_allow_oom", "Write")
