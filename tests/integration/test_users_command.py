"""`redis-ledger users`, with a separate Redis and with a data directory."""

from __future__ import annotations

import json

import pytest

from redis_ledger.app.embedded_redis.server import running_pid
from tests.support import cli
from tests.support.broker import one
from tests.support.processes import Serve


def users(*words: object, given: str = "", **environ: str) -> cli.Ended:
    return cli.run("users", *words, given=given, **environ)


async def test_users_are_added_listed_and_removed(redis_url, prefix):
    there = ("--redis", redis_url, "--set", f"prefix={prefix}")
    added = users("add", "ada", *there, given="one\n")
    assert (added.code, added.out) == (0, "Added user ada.\n")
    assert users("add", "ada", *there, given="two").out == "Changed the password of ada.\n"
    listed = users("list", "--json", *there)
    assert json.loads(listed.out) == {"user": "ada", "mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}
    async with one(redis_url, prefix) as broker:
        await broker.scram_credentials.check_password("ada", "two")
    assert users("remove", "ada", *there).out == "Removed user ada.\n"
    assert users("list", "--json", *there).out == ""


def test_the_url_of_redis_may_be_in_a_file(redis_url, prefix, tmp_path):
    (tmp_path / "url").write_text(redis_url)
    added = users("add", "ada", "--set", f"prefix={prefix}", given="one", REDIS_LEDGER_REDIS_URL_FILE=f"{tmp_path}/url")
    assert (added.code, added.err) == (0, "")
    assert "ada" in users("list", "--redis", redis_url, "--set", f"prefix={prefix}").out
    absent = users("list", REDIS_LEDGER_REDIS_URL_FILE=f"{tmp_path}/absent")
    assert (absent.code, absent.out) == (2, "")
    assert "absent, which cannot be read" in absent.err


@pytest.mark.parametrize(
    ("words", "given", "code", "message"),
    [
        (("add", "ada"), "", 1, "password is empty"),
        (("add", "a\tb"), "x", 1, "printable"),
        (("remove", "eve"), "", 1, "no user 'eve'"),
        (("add", "ada", "--set", "prefixx=1"), "x", 2, "prefix"),
        (("add", "ada", "secret"), "", 2, "secret"),
        (("list", "--redis", "redis://127.0.0.1:1"), "", 2, "127.0.0.1:1"),
        (("list", "--redis", "nothing"), "", 2, "--redis"),
    ],
)
def test_errors_are_reported_in_one_sentence(redis_url, prefix, words, given, code, message):
    there = () if "--redis" in words else ("--redis", redis_url)
    ended = users(*words, *there, given=given)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_a_user_can_be_added_before_the_first_broker_runs_and_while_one_does(tmp_path):
    # Given an unused data directory
    data = tmp_path / "data"
    assert users("add", "ada", "--data-dir", data, given="x").code == 0
    assert running_pid(data) is None, "the server that was started for it is stopped again"
    # When a broker with another durability runs there, and another user is added
    broker = Serve("--data-dir", data, "--durability", "process")
    try:
        assert broker.ready
        assert users("add", "bob", "--data-dir", data, given="x").code == 0
        # Then the broker's server goes on, and both users are there
        assert running_pid(data) is not None
        shown = users("list", "--data-dir", data).out
        assert "ada" in shown
        assert "bob" in shown
        assert broker.terminate() == 0
    finally:
        broker.clean_up()
