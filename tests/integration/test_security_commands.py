"""`redis-ledger tokens`, `acls` and `audit`, and commands that send a token to a broker."""

from __future__ import annotations

import json

import pytest

from redis_ledger.auth.acl import Caller, Op, Resource
from tests.support.broker import one
from tests.support.cli import run
from tests.support.processes import Serve


async def test_a_token_is_printed_once_and_counts_until_it_is_revoked(redis_url, prefix):
    there = ("--redis", redis_url, "--set", f"prefix={prefix}")
    made = run("tokens", "create", "ada", "--note", "laptop", *there)
    token = made.out.strip()
    assert (made.code, made.err) == (0, "Token of User:ada. Store it: it cannot be shown again.\n")
    async with one(redis_url, prefix, auth_required=True) as broker:
        assert broker.security.principal_of(token) == "User:ada"
        assert not broker.security.allows(Caller("User:ada", ""), Op.READ, Resource.TOPIC, "t")
        listed = json.loads(run("tokens", "list", "--json", *there).out)
        assert (listed["principal"], listed["note"], token.rpartition("_")[2] in str(listed)) == (
            "User:ada", "laptop", False,
        )  # fmt: skip
        assert run("tokens", "revoke", listed["id"], *there).out == f"Revoked {listed['id']} of User:ada.\n"
        await broker.security.refresh()
        assert broker.security.tokens == {}


async def test_a_super_token_allows_everything_and_one_with_an_end_ends(redis_url, prefix):
    there = ("--redis", redis_url, "--set", f"prefix={prefix}", "--json")
    made = json.loads(run("tokens", "create", "User:chief", "--super", "--expires-after", "PT1H", *there).out)
    async with one(redis_url, prefix, auth_required=True) as broker:
        for operation, resource, name in (
            (Op.WRITE, Resource.TOPIC, "any"),
            (Op.ALTER, Resource.CLUSTER, "kafka-cluster"),
            (Op.READ, Resource.GROUP, "any"),
        ):
            assert broker.security.allows(Caller("User:chief", ""), operation, resource, name)
        left_ms = made["expires_ms"] - broker.clock.now_ms()
        assert 3_500_000 < left_ms <= 3_600_000


async def test_rules_are_added_listed_and_removed(redis_url, prefix):
    there = ("--redis", redis_url, "--set", f"prefix={prefix}")
    words = ("acls", "add", "ada", "--allow", "READ,WRITE", "--topic", "orders-*", "--group", "billing")
    refused = run(*words, *there)
    assert (refused.code, refused.out) == (1, "")
    assert "WRITE cannot be allowed on a GROUP" in refused.err
    assert run("acls", "add", "ada", "--allow", "READ,write", "--topic", "orders-*", *there).out == "Added 2 ACLs.\n"
    assert run("acls", "add", "*", "--deny", "ALL", "--topic", "secret", *there).out == "Added 1 ACL.\n"
    async with one(redis_url, prefix, auth_required=True) as broker:
        assert broker.security.allows(Caller("User:ada", ""), Op.WRITE, Resource.TOPIC, "orders-eu")
        assert not broker.security.allows(Caller("User:ada", ""), Op.WRITE, Resource.TOPIC, "orders")
    for_topic = run("acls", "list", "--topic", "orders-eu", "--json", *there).out.splitlines()
    assert [json.loads(line)["operation"] for line in for_topic] == ["READ", "WRITE"]
    assert "orders-*" in run("acls", "list", "ada", *there).out
    assert run("acls", "remove", "ada", "--topic", "orders-eu", *there).out == "Removed 0 ACLs.\n"
    assert run("acls", "remove", "ada", *there).out == "Removed 2 ACLs.\n"
    left = [json.loads(line) for line in run("acls", "list", "--json", *there).out.splitlines()]
    assert [(each["principal"], each["permission"]) for each in left] == [("User:*", "DENY")]


async def test_local_commands_are_audited(redis_url, prefix):
    there = ("--redis", redis_url, "--set", f"prefix={prefix}")
    run("users", "add", "ada", *there, given="secret-word\n")
    token = run("tokens", "create", "ada", *there).out.strip()
    run("acls", "add", "ada", "--allow", "READ", "--topic", "t", *there)
    output = run("audit", "--json", *there).out
    acts = [json.loads(line) for line in output.splitlines()]
    assert [each["act"] for each in acts] == ["acl.add", "token.create", "user.add"]
    assert acts[0]["target"] == "1 rule of User:ada"
    assert all(each["principal"].startswith("local:") for each in acts)
    assert "secret-word" not in output
    assert token.rpartition("_")[2] not in output
    assert "token.create" in run("audit", *there).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("acls", "add", "ada", "--allow", "FLY", "--topic", "t"), "'FLY' is not an operation"),
        (("acls", "add", "ada", "--allow", "READ"), "Give operations and resources"),
        (("tokens", "create", "ada", "--expires-after", "soon"), "--expires-after"),
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence(redis_url, prefix, words, message):
    ended = run(*words, "--redis", redis_url, "--set", f"prefix={prefix}")
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [("acls", "list"), ("audit",), ("users", "list"), ("quotas", "list")])
def test_a_redis_that_is_not_there_is_nothing_to_talk_to(words):
    ended = run(*words, "--redis", "redis://me:secret@127.0.0.1:1")
    assert (ended.code, ended.out) == (2, "")
    refused = ended.err.splitlines()[-1]
    assert refused.startswith("redis-ledger: Redis at 127.0.0.1:1 cannot be used: nothing listens there")
    assert refused.endswith(". Start it, or correct the Redis URL.")
    assert "secret" not in ended.err


def test_commands_show_the_token_of_the_environment_or_of_a_file(tmp_path):
    # Given a broker that asks, whose first administrator has a token in a file
    first = tmp_path / "admin-token"
    first.write_text("0123456789abcdef0123456789abcdef\n")
    settings = ("--set", "auth_required=yes", "--set", f"bootstrap_token_file={first}")
    serve = Serve("--data-dir", tmp_path / "data", *settings)
    try:
        there = ("--url", serve.urls[0])
        # When a command is called without a token, with a wrong one, and with this one
        refused = run("topics", "create", "t", *there)
        assert (refused.code, refused.out) == (1, "")
        assert "Authentication is required" in refused.err
        assert refused.err.endswith("Set REDIS_LEDGER_TOKEN or use --token-file.\n")
        assert run("topics", "list", *there, REDIS_LEDGER_TOKEN="rl_wrong").code == 1
        # Then only the last is served
        assert run("topics", "create", "t", *there, "--token-file", first).code == 0
        assert run("topics", "list", *there, REDIS_LEDGER_TOKEN_FILE=str(first)).code == 0
        listed = run("topics", "list", "--json", *there, REDIS_LEDGER_TOKEN=first.read_text().strip())
        assert json.loads(listed.out)["name"] == "t"
        missing = run("topics", "list", *there, "--token-file", tmp_path / "nowhere")
        assert (missing.code, "cannot be read" in missing.err) == (2, True)
    finally:
        serve.clean_up()
