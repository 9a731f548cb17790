"""Redis URLs: parsing, and errors."""

from __future__ import annotations

import pytest

from redis_ledger.store.address import parse_url


@pytest.mark.parametrize(
    ("url", "kind", "names"),
    [
        ("redis://10.0.0.1", "single", ["10.0.0.1:6379"]),
        ("redis://", "single", ["127.0.0.1:6379"]),
        ("redis://:7000", "single", ["127.0.0.1:7000"]),
        ("redis://[::1]:7000/2", "single", ["[::1]:7000"]),
        ("unix:///run/redis.sock", "single", ["/run/redis.sock"]),
        ("redis+cluster://a:1,b,c:3", "cluster", ["a:1", "b:6379", "c:3"]),
        ("redis+sentinel://a,b:1/mine", "sentinel", ["a:26379", "b:1"]),
    ],
)
def test_a_url_names_its_servers(url, kind, names):
    target = parse_url(url)
    assert (target.kind, [seed.name for seed in target.seeds]) == (kind, names)


def test_secrets_are_decoded_and_never_shown():
    (seed,) = parse_url("redis://us%40er:p%3Aw%2F@host/4").seeds
    assert (seed.username, seed.password, seed.db) == ("us@er", "p:w/", 4)
    assert "p:w/" not in repr(seed)
    assert seed.name == "host:6379"


def test_a_password_without_a_user_is_the_default_users():
    (seed,) = parse_url("unix://:pw@/run/redis.sock?db=2").seeds
    assert (seed.username, seed.password, seed.db, seed.path) == (None, "pw", 2, "/run/redis.sock")


def test_sentinels_have_credentials_of_their_own():
    target = parse_url("redis+sentinel://user:pw@s1/mine/3?sentinel_password=spw")
    assert (target.service, target.primary.password, target.primary.db) == ("mine", "pw", 3)
    assert (target.seeds[0].username, target.seeds[0].password, target.seeds[0].db) == (None, "spw", 0)


def test_tls_is_verified_unless_switched_off_by_name():
    (seed,) = parse_url("rediss://host").seeds
    assert seed.tls is not None
    assert (seed.tls.verify, seed.tls.check_hostname) == (True, True)
    target = parse_url("rediss+cluster://host?ssl_cert_reqs=none")
    assert target.seeds[0].tls is not None
    assert not target.seeds[0].tls.verify
    assert parse_url("redis://host").seeds[0].tls is None


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("localhost:6379", "is not a Redis URL"),
        ("http://host", "http:// is not a Redis scheme"),
        ("redis://host:port", "'port' in the Redis URL is not a port number"),
        ("redis://host/x", "'x' in the Redis URL is not a database number"),
        ("redis://a,b", "names one server"),
        ("unix://redis.sock", "no absolute socket path"),
        ("redis+sentinel://host", "ends with the name of its primary"),
        ("redis+cluster://host/1", "only database 0"),
        ("redis://host?timeout=1", "unknown option 'timeout'"),
    ],
)
def test_a_url_that_makes_no_sense_is_told_in_a_sentence(url, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_url(url)


def test_a_complaint_does_not_repeat_the_password():
    with pytest.raises(ValueError) as refusal:
        parse_url("unix://:hush@relative")
    assert "hush" not in str(refusal.value)
