"""JSON Web Tokens over REST: keys in a file and behind a URL, key rotation, and expiry."""

from __future__ import annotations

import http.server
import json
import threading
import time

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.security import jwks
from redis_ledger.errors import InvalidRequest
from tests.support.secured_rest import secured

ISSUER = {"jwt_issuer": "https://id.example", "jwt_audience": "ledger"}
FIRST, SECOND = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


def key_set(**keys):
    algorithm = pyjwt.get_algorithm_by_name("ES256")
    shown = [{**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid} for kid, key in keys.items()]
    return json.dumps({"keys": shown})


def token(key, kid, **more):
    claims = {"iss": ISSUER["jwt_issuer"], "aud": "ledger", "sub": "ada", "exp": int(time.time()) + 600, **more}
    return pyjwt.encode(claims, key, "ES256", headers={"kid": kid})


async def status(world, shown):
    return (await world.http.get("/metrics", headers={"authorization": f"Bearer {shown}"})).status_code


async def test_rules_apply_to_jwt_principals_and_api_tokens_still_work(redis_url, prefix, tmp_path):
    path = tmp_path / "jwks.json"
    path.write_text(key_set(k1=FIRST))
    async with secured(redis_url, prefix, jwt_jwks=str(path), **ISSUER) as world:
        assert await status(world, token(FIRST, "k1")) == 403
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER)
        assert await status(world, token(FIRST, "k1")) == 200
        assert await status(world, token(FIRST, "k1", sub="eve")) == 403
        assert await status(world, token(SECOND, "k1")) == 401
        assert (await world.get("ada", "/metrics")).status_code == 200


async def test_a_file_of_keys_is_read_again_when_it_changes_and_what_was_verified_is_forgotten(
    redis_url, prefix, tmp_path
):
    path = tmp_path / "jwks.json"
    path.write_text(key_set(k1=FIRST))
    async with secured(redis_url, prefix, jwt_jwks=str(path), **ISSUER) as world:
        await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER)
        before, after = token(FIRST, "k1"), token(SECOND, "k2")
        assert [await status(world, before), await status(world, after)] == [200, 401]
        path.write_text(key_set(k2=SECOND, k3=SECOND))
        await world.broker.security._look_at_jwts()
        assert [await status(world, before), await status(world, after)] == [401, 200]
        path.write_text("broken")
        await world.broker.security._look_at_jwts()
        assert await status(world, after) == 200


async def test_keys_behind_a_url_are_fetched_again_for_one_that_is_unknown_but_not_all_the_time(
    redis_url, prefix, monkeypatch
):
    served = {"text": key_set(k1=FIRST), "asked": 0}

    class Issuer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served["asked"] += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(served["text"].encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    issuer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    threading.Thread(target=issuer.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{issuer.server_port}/keys"
        async with secured(redis_url, prefix, jwt_jwks=url, **ISSUER) as world:
            await world.allow("ada", Op.DESCRIBE, Resource.CLUSTER)
            assert (await status(world, token(FIRST, "k1")), served["asked"]) == (200, 1)
            served["text"] = key_set(k1=FIRST, k2=SECOND)
            # Given that they were fetched just now, a key that is not known is not asked for again
            assert (await status(world, token(SECOND, "k2")), served["asked"]) == (401, 1)
            # When half a minute has passed, it is, once for all that want it
            monkeypatch.setattr(jwks, "REFETCH_S_MIN", 0.0)
            assert (await status(world, token(SECOND, "k2")), served["asked"]) == (200, 2)
            assert (await status(world, token(FIRST, "k1")), served["asked"]) == (200, 2)
            # And while the issuer does not answer, the cached keys stay in effect
            issuer.shutdown()
            issuer.server_close()
            assert await status(world, token(SECOND, "k9")) == 401
            assert await status(world, token(SECOND, "k2", jti="other")) == 200
    finally:
        issuer.server_close()


async def test_keys_are_not_fetched_over_plain_http(redis_url, prefix):
    with pytest.raises(InvalidRequest, match="https"):
        async with secured(redis_url, prefix, jwt_jwks="http://id.example/keys", **ISSUER):
            pass
