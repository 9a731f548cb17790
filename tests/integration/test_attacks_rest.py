"""Attacks on the HTTP port, over real sockets: each is refused without effect."""

from __future__ import annotations

import base64
import gzip
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.tokens import digest, read
from redis_ledger.records.build import encode
from tests.support.attack_target import PRODUCE, RECORDS, AttackTarget, attack_target, parse


@pytest.fixture
async def target(redis_url, prefix) -> AsyncIterator[AttackTarget]:
    async with attack_target(redis_url, prefix) as opened:
        await opened.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
        yield opened


# -- who it is ---------------------------------------------------------------------------------------------------------


async def test_a_token_in_the_address_is_not_taken_and_not_repeated(target, capsys):
    token = await target.token("ada")
    for query in (f"access_token={token}", f"token={token}", f"authorization=Bearer%20{token}"):
        status, body = await target.ask(None, "POST", f"/v1/topics/orders/records?{query}", RECORDS)
        assert status == 401
        assert token.encode() not in body
    assert token not in capsys.readouterr().err
    assert await target.written() == 0


@pytest.mark.parametrize(
    "header",
    [
        b"x-forwarded-user: root",
        b"x-remote-user: root",
        b"remote-user: root",
        b"x-ssl-client-s-dn: CN=root",
        b"x-forwarded-client-cert: Subject=CN=root",
        b"redis_ledger.principal: User:root",
        b"redis-ledger-principal: User:root",
        b"forwarded: for=127.0.0.1;user=root",
        b"authorization: Basic cm9vdDpyb290",
        b"authorization: Bearer User:root",
        b"authorization: Bearer ",
        b"cookie: authorization=root",
    ],
)
async def test_identity_headers_of_other_servers_are_ignored(target, header):
    status, _ = await target.ask(None, "POST", "/v1/topics/orders/records", RECORDS, header)
    assert status == 401
    assert await target.written() == 0


async def test_a_second_authorization_is_not_chosen_from(target):
    await target.token("ada")
    mine, other = target.with_token(), b"authorization: Bearer rl_0_0\r\n"
    for both in (mine + other, other + mine, mine + mine, mine + other.upper()):
        sent = PRODUCE + both + b"content-length: %d\r\n\r\n" % len(RECORDS) + RECORDS
        assert parse(await target.http(sent))[0] == 401
    assert await target.written() == 0


async def test_a_revoked_token_and_those_near_it_are_nothing(target):
    text = await target.token("ada")
    id, secret = text.removeprefix("rl_").split("_")
    assert (await target.ask("ada", "POST", "/v1/topics/orders/records", RECORDS))[0] == 200
    shown = read(text)
    assert shown is not None
    near = [
        f"rl_{id}_{'0' * len(secret)}", f"rl_{id}_{secret[:-1]}", f"rl_{id}_{secret}0", f"rl_{id}_", f"rl__{secret}",
        f"rl_{id}_{digest(shown.secret)!s}", f"{id}_{secret}", f"rl_{id}_{secret}\\u0000", f"RL_{id}_{secret}",
    ]  # fmt: skip
    for each in near:
        sent = PRODUCE + f"authorization: Bearer {each}\r\ncontent-length: {len(RECORDS)}\r\n\r\n".encode() + RECORDS
        assert parse(await target.http(sent))[0] == 401, each
    await target.broker.security.revoke_token(id)
    assert (await target.ask("ada", "POST", "/v1/topics/orders/records", RECORDS))[0] == 401
    assert await target.written() == 1


async def test_a_jwt_without_a_trusted_signature_is_refused(redis_url, prefix, tmp_path):
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    curve = jwt.get_algorithm_by_name("ES256")
    public = {**curve.to_jwk(key.public_key(), as_dict=True), "kid": "k"}
    (tmp_path / "jwks").write_text(json.dumps({"keys": [public]}))
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    fair = {"iss": "us", "aud": "ledger", "sub": "root", "exp": int(time.time()) + 600}
    kid = {"kid": "k"}

    def signed(changes: dict[str, Any], by: Any = key, **head: Any) -> str:
        claims = {name: value for name, value in {**fair, **changes}.items() if value is not None}
        return jwt.encode(claims, by, "ES256", headers={**kid, **head})

    def shared(secret: bytes) -> str:
        """Signed with the public key, as if it were a shared secret."""
        text = ".".join(b64(json.dumps(each).encode()) for each in ({"alg": "HS256", **kid}, fair))
        return f"{text}.{b64(hmac.digest(secret, text.encode(), 'sha256'))}"

    own = {**curve.to_jwk(other.public_key(), as_dict=True), "kid": "k"}
    good = signed({})
    head, body, proof = good.split(".")
    forged = [
        jwt.encode(fair, "", "none", headers=kid),
        ".".join((b64(b'{"alg":"NoNe","kid":"k"}'), body, "")),
        f"{head}.{body}.",
        f"{head}.{b64(json.dumps({**fair, 'sub': 'admin'}).encode())}.{proof}",
        shared(pem), shared(json.dumps(public).encode()), shared(b""),
        signed({}, other), signed({}, other, jwk=own), signed({}, other, jku="http://127.0.0.1:1/jwks"),
        signed({}, other, kid="../../../dev/null"), signed({}, other, kid=""),
        signed({"exp": int(time.time()) - 600}), signed({"exp": None}), signed({"nbf": int(time.time()) + 600}),
        signed({"aud": "elsewhere"}), signed({"aud": None}), signed({"iss": "them"}), signed({"iss": None}),
        signed({"sub": None}), signed({"sub": ""}), signed({"sub": "a\nb"}),
    ]  # fmt: skip
    settings = {"jwt_jwks": str(tmp_path / "jwks"), "jwt_issuer": "us", "jwt_audience": "ledger"}
    async with attack_target(redis_url, prefix, **settings) as target:
        for number, text in enumerate(forged):
            header = b"authorization: Bearer " + text.encode()
            status, _ = await target.ask(None, "POST", "/v1/topics/orders/records", RECORDS, header)
            assert status == 401, number
        assert await target.written() == 0
        header = b"authorization: Bearer " + good.encode()
        assert (await target.ask(None, "POST", "/v1/topics/orders/records", RECORDS, header))[0] == 200


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_an_idempotency_key_of_another_principal_reveals_and_changes_nothing(target):
    await target.allow("eve", Op.WRITE, Resource.TOPIC, "orders")
    key = b"idempotency-key: the-same"
    first = await target.ask("ada", "POST", "/v1/transactions", b"{}", key)
    stolen = await target.ask("eve", "POST", "/v1/transactions", b"{}", key)
    assert first[0] == 201
    assert stolen[0] == 201
    assert json.loads(first[1])["id"] != json.loads(stolen[1])["id"]
    again = await target.ask("ada", "POST", "/v1/transactions", b"{}", key)
    assert json.loads(again[1])["id"] == json.loads(first[1])["id"]
    id = json.loads(first[1])["id"]
    assert (await target.ask("eve", "POST", f"/v1/transactions/{id}:commit", b"{}"))[0] == 403


# -- what it may do ----------------------------------------------------------------------------------------------------


async def test_rules_cover_what_they_say_and_nothing_that_looks_like_it(target):
    for topic in ("a", "ab", "Ab", "b", "prefix", "x.a"):
        await target.broker.topics.create(topic, 1)
    await target.allow("bob", Op.WRITE, Resource.TOPIC, "a", prefix=True)
    # No topic begins with a star, so no rule covers this.
    await target.allow("bob", Op.WRITE, Resource.TOPIC, "*", prefix=True)
    may = {}
    for topic in ("a", "ab", "Ab", "b", "x.a", "%61b", "%41b", "orders", "*", "%2a", "%EF%BD%81b", "a%CC%8A"):
        may[topic] = (await target.ask("bob", "POST", f"/v1/topics/{topic}/records", RECORDS))[0]
    assert {topic for topic, status in may.items() if status == 200} == {"a", "ab", "%61b"}  # %61 is an a
    assert set(may.values()) <= {200, 400, 403}
    await target.allow("bob", Op.WRITE, Resource.TOPIC, "ab", deny=True)
    assert (await target.ask("bob", "POST", "/v1/topics/ab/records", RECORDS))[0] == 403
    assert (await target.ask("bob", "POST", "/v1/topics/%61%62/records", RECORDS))[0] == 403


@pytest.mark.parametrize(
    "name",
    [
        "..", ".", "%2e%2e", "%2e", "..%2f..%2facls", "%2e%2e%2facls", "a%2fb", "a%5cb", "a%00b", "a%0ab", "a%0d%0ab",
        "%ff", "%C0%AE%C0%AE", "a%20b", "%E2%80%AEb", "a;b", "a%3ab", "a%7Bb%7D", "%25%32%65", "a" * 250, "a%EF%BC%8Fb",
    ],
)  # fmt: skip
async def test_names_that_would_be_paths_or_keys_are_no_topics(target, name):
    for method, path, body in (
        ("POST", f"/v1/topics/{name}/records", RECORDS),
        ("GET", f"/v1/topics/{name}", b""),
        ("POST", f"/v1/topics/{name}/../../acls", b'{"acls":[]}'),
    ):
        status, _ = await target.ask("root", method, path, body)
        assert status in (400, 404, 405), (method, path)
    assert [topic.name for topic in await target.broker.topics.list()] == ["orders"]


@pytest.mark.parametrize(
    "kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data", b"application/json"]
)
@pytest.mark.parametrize(
    "origin",
    [b"origin: https://evil.example", b"origin: null", b"sec-fetch-site: cross-site", b"sec-fetch-site: same-site"],
)
async def test_cross_site_requests_change_nothing(redis_url, prefix, kind, origin):
    """Without authentication, or with a client certificate, the broker checks the Origin header of every request."""
    async with attack_target(redis_url, prefix, auth_required=False) as target:
        status, body = await target.ask(
            None, "POST", "/v1/topics/orders/records", RECORDS, b"content-type: " + kind, origin
        )
        assert (status, json.loads(body)["code"]) == (403, "forbidden")
        assert await target.written() == 0
        own = (b"origin: http://localhost", b"sec-fetch-site: same-origin", b"sec-fetch-site: none", b"x-a: b")
        for each in own:
            assert (await target.ask(None, "POST", "/v1/topics/orders/records", RECORDS, each))[0] == 200


async def test_a_body_that_unpacks_into_very_much_is_bounded(target):
    await target.allow("ada", Op.READ, Resource.TOPIC, "orders")
    packed = b"content-encoding: gzip"
    status, _ = await target.ask("ada", "POST", "/v1/topics/orders/records", gzip.compress(b"0" * 50_000_000), packed)
    assert status in (400, 415)
    bomb = encode([(None, b"\0" * 200_000_000, (), 1)], compression=4)
    assert len(bomb) < 100_000
    kind = b"content-type: application/vnd.redis-ledger.batch"
    refused, _ = await target.ask("ada", "POST", "/v1/topics/orders/records?partition=0", bomb, kind)
    status, body = await target.ask("ada", "GET", "/v1/topics/orders/partitions/0/records?offset=0")
    assert (refused, status, len(body) < 10_000) == (413, 200, True)
    assert (await target.ask(None, "GET", "/livez"))[0] == 200


async def test_a_line_break_in_a_name_is_no_line_in_the_log(target, capsys):
    forged = "%0a{%22event%22:%22forged%22}"
    await target.ask("root", "GET", f"/v1/topics/{forged}")
    await target.ask("root", "POST", f"/v1/topics/orders/subscriptions/{forged}:receive", b'{"consumer":"a\\n{}"}')
    await target.ask(None, "GET", "/livez", b"", b"x-request-id: a\\n{}")
    for line in capsys.readouterr().err.splitlines():
        assert json.loads(line)["event"] != "forged"
