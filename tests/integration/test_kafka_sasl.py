"""SASL at the Kafka port: logins, failures that reveal nothing, and changes of users."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog
from aiokafka import AIOKafkaProducer
from aiokafka.conn import ScramAuthenticator
from aiokafka.errors import KafkaError

from redis_ledger.auth.scram import HASHES, Verifier, is_password
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.security import scram_credentials
from redis_ledger.errors import AuthenticationFailed, UnacceptableCredential, UnknownUser
from redis_ledger.kafka import server
from redis_ledger.kafka.open_connections import LOGIN_BYTES_MAX
from redis_ledger.kafka.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from redis_ledger.store.keys import CatalogKeys
from tests.support.broker import eventually, one, two, values_of
from tests.support.busy_machine import wait_for
from tests.support.kafka_client import KafkaClient, listening

MECHANISMS = ["PLAIN", *HASHES]
UNSUPPORTED_MECHANISM, ILLEGAL_STATE, FAILED, NOT_FOUND, DUPLICATE, UNACCEPTABLE = 33, 34, 58, 91, 92, 93
CLOSED = (ConnectionError, asyncio.IncompleteReadError)


@pytest.fixture
async def broker(redis_url, prefix) -> AsyncIterator[Broker]:
    async with one(redis_url, prefix, auth_required=True, allow_everyone_if_no_acl=True) as opened:
        await opened.scram_credentials.add("ada", "pässword")
        yield opened


@pytest.fixture
async def address(broker) -> AsyncIterator[tuple[str, int]]:
    async with listening(broker) as found:
        yield found


async def handshake(client: KafkaClient, mechanism: str, version: int = 1) -> Any:
    return await client.ask(SaslHandshakeRequest(mechanism), version)


async def log_in(client: KafkaClient, mechanism: str, user: str, password: str, version: int = 2) -> Any:
    """The last answer, or the one that refused."""
    assert (await handshake(client, mechanism)).error_code == 0
    if mechanism == "PLAIN":
        return await client.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), version)
    steps = ScramAuthenticator(
        loop=None, sasl_plain_password=password, sasl_plain_username=user, sasl_mechanism=mechanism
    ).authenticator_scram()
    token, _ = next(steps)
    answer = await client.ask(SaslAuthenticateRequest(token), version)
    if answer.error_code:
        return answer
    token, _ = steps.send(answer.auth_bytes)
    answer = await client.ask(SaslAuthenticateRequest(token), version)
    if not answer.error_code:
        with contextlib.suppress(StopIteration):  # the client believes the server's signature
            steps.send(answer.auth_bytes)
    return answer


# -- who gets in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("version", range(3))
async def test_correct_password_is_accepted(address, mechanism, version):
    async with KafkaClient(address) as client:
        answer = await log_in(client, mechanism, "ada", "pässword", version)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert (await client.ask(MetadataRequest(), 12)).brokers


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_unknown_user_gets_the_same_error_as_a_wrong_password(address, mechanism):
    answers = []
    for user, password in (("ada", "wrong"), ("eve", "pässword"), ("eve" * 200, "x")):
        async with KafkaClient(address) as client:
            answer = await log_in(client, mechanism, user, password)
            answers.append((answer.error_code, answer.error_message, answer.auth_bytes))
            with pytest.raises(CLOSED):
                await client.ask(SaslAuthenticateRequest(b"\0ada\0" + "pässword".encode()), 2)
    assert answers[0][0] == FAILED
    assert answers[1:] == answers[:1] * 2


async def test_an_unknown_user_is_challenged_like_any_other_at_every_broker(redis_url, prefix):
    async with two(redis_url, prefix, auth_required=True, allow_everyone_if_no_acl=True) as brokers:
        await brokers[0].scram_credentials.add("ada", "x")
        salts: dict[str, set[bytes]] = {}
        for name in ("ada", "eve", "bob"):
            for mechanism in HASHES:
                found = [
                    (await broker.scram_credentials.verifier(name, mechanism))[0] for broker in (*brokers, *brokers)
                ]
                salts.setdefault(name, set()).update(each.salt for each in found)
                assert {(len(each.salt), each.iterations) for each in found} == {(16, 4096)}
                assert {len(each.stored_key) for each in found} == {hashlib.new(HASHES[mechanism]).digest_size}
        # One salt for a name and a mechanism, always the same, and different from all others.
        assert {name: len(found) for name, found in salts.items()} == {"ada": 2, "eve": 2, "bob": 2}
        assert len(set().union(*salts.values())) == 6


async def test_for_an_unknown_user_as_much_is_hashed_as_for_a_wrong_password(broker, monkeypatch):
    """Else the time an answer takes would tell who is a user."""
    hashed = []

    def noted(mechanism: str, password: str, verifier: Verifier) -> bool:
        hashed.append((mechanism, password, verifier.iterations, len(verifier.salt)))
        return is_password(mechanism, password, verifier)

    monkeypatch.setattr(scram_credentials, "is_password", noted)
    for name in ("ada", "eve"):
        with pytest.raises(AuthenticationFailed):
            await broker.scram_credentials.check_password(name, "wrong")
    known, unknown = hashed
    assert known == unknown


async def test_nothing_but_logging_in_is_served_before_it(address):
    async with KafkaClient(address) as client:
        assert (await client.ask(ApiVersionsRequest("test", "1"), 3)).error_code == 0
        with pytest.raises(CLOSED):
            await client.ask(MetadataRequest(), 12)


@pytest.mark.parametrize(
    "token", [b"", b"\0ada", b"\0ada\0a\0b", b"\xff\0ada\0x", "root\0ada\0pässword".encode(), b"\0\0"]
)
async def test_a_token_that_is_not_what_it_must_be_is_refused(address, token):
    async with KafkaClient(address) as client:
        assert (await handshake(client, "PLAIN")).error_code == 0
        assert (await client.ask(SaslAuthenticateRequest(token), 2)).error_code == FAILED


async def test_steps_out_of_order_are_refused(address):
    async with KafkaClient(address) as client:
        assert (await client.ask(SaslAuthenticateRequest(b"\0ada\0x"), 2)).error_code == ILLEGAL_STATE
        assert (await handshake(client, "PLAIN")).error_code == 0
        assert (await handshake(client, "PLAIN")).error_code == ILLEGAL_STATE
        assert (await client.ask(SaslAuthenticateRequest("\0ada\0pässword".encode()), 2)).error_code == 0
        assert (await handshake(client, "PLAIN")).error_code == ILLEGAL_STATE
        assert (await client.ask(SaslAuthenticateRequest(b"\0ada\0x"), 2)).error_code == ILLEGAL_STATE
        assert (await client.ask(MetadataRequest(), 12)).brokers, "who is in stays in"


async def test_a_mechanism_that_is_not_served_is_refused_with_those_that_are(address):
    async with KafkaClient(address) as client:
        answer = await handshake(client, "GSSAPI")
        assert (answer.error_code, answer.mechanisms) == (UNSUPPORTED_MECHANISM, MECHANISMS)


async def test_without_authentication_logins_are_unavailable(redis_url, prefix):
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        assert (await handshake(client, "PLAIN")).error_code == ILLEGAL_STATE
        assert (await client.ask(SaslAuthenticateRequest(b"\0ada\0x"), 2)).error_code == ILLEGAL_STATE
        assert (await client.ask(MetadataRequest(), 12)).brokers


async def test_a_frame_that_is_too_large_for_a_login_closes_the_connection_before_it_arrives(address):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(struct.pack(">i", LOGIN_BYTES_MAX + 1))
    assert await wait_for(reader.read(), 5) == b""
    writer.close()


# -- tokens without requests around them -------------------------------------------------------------------------------


class BareClient(KafkaClient):
    """As clients do it that are older than Kafka 1.0."""

    async def token(self, token: bytes) -> bytes:
        self._writer.write(struct.pack(">i", len(token)) + token)
        (size,) = struct.unpack(">i", await wait_for(self._reader.readexactly(4), 5))
        return await self._reader.readexactly(size)


async def test_a_client_may_send_bare_tokens_after_the_first_handshake_version(broker, address):
    await broker.scram_credentials.add("a", "b")
    async with BareClient(address) as client:
        assert (await handshake(client, "PLAIN", 0)).error_code == 0
        assert await client.token(b"\0a\0b") == b"", "shorter than any request"
        assert (await client.ask(MetadataRequest(), 12)).brokers
    async with BareClient(address) as client:
        assert (await handshake(client, "SCRAM-SHA-512", 0)).error_code == 0
        steps = ScramAuthenticator(
            loop=None, sasl_plain_password="pässword", sasl_plain_username="ada", sasl_mechanism="SCRAM-SHA-512"
        ).authenticator_scram()
        token, _ = next(steps)
        token, _ = steps.send(await client.token(token))
        with contextlib.suppress(StopIteration):
            steps.send(await client.token(token))
        assert (await client.ask(MetadataRequest(), 12)).brokers


@pytest.mark.parametrize("token", [b"", b"\0ada\0wrong", b"\0\0\0\0\0\0\0\0\0\0\0\0"])
async def test_a_bare_token_that_is_refused_closes_the_connection(address, token):
    async with BareClient(address) as client:
        await handshake(client, "PLAIN", 0)
        with pytest.raises(CLOSED):
            await client.token(token)


# -- real clients ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_producer_of_aiokafka_logs_in_and_writes(broker, address, mechanism):
    await broker.topics.create("orders")

    def producer(password: str) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=f"{address[0]}:{address[1]}", security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism, sasl_plain_username="ada", sasl_plain_password=password,
        )  # fmt: skip

    opened = producer("pässword")
    await opened.start()
    try:
        await opened.send_and_wait("orders", b"hello")
    finally:
        await opened.stop()
    assert await values_of(broker, "orders") == ["hello"]
    refused = producer("wrong")
    with pytest.raises(KafkaError):
        await refused.start()
    await refused.stop()


# -- users -------------------------------------------------------------------------------------------------------------


def upsertion(name: str, password: str = "x", mechanism: int = 1, iterations: int = 4096, **more: bytes) -> Any:
    salt = more.get("salt", b"salt of the client")
    hashed = hashlib.pbkdf2_hmac({2: "sha512"}.get(mechanism, "sha256"), password.encode(), salt, iterations)
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, more.get("salted", hashed))


async def alter(client: KafkaClient, *upsertions: Any, deletions: Any = ()) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest([ScramCredentialDeletion(*each) for each in deletions], list(upsertions))
    answer = await client.ask(request, 0)
    assert all(bool(each.error_code) == bool(each.error_message) for each in answer.results)
    return {each.user: each.error_code for each in answer.results}


async def described(client: KafkaClient, *names: str) -> dict[str, Any]:
    request = DescribeUserScramCredentialsRequest([UserName(name) for name in names] or None)
    answer = await client.ask(request, 0)
    assert answer.error_code == 0
    return {
        each.user: each.error_code or {info.mechanism: info.iterations for info in each.credential_infos}
        for each in answer.results
    }


@pytest.fixture
async def admin(address) -> AsyncIterator[KafkaClient]:
    async with KafkaClient(address) as client:
        await log_in(client, "PLAIN", "ada", "pässword")
        yield client


async def test_a_user_that_a_client_has_added_logs_in(admin, address):
    assert await alter(admin, upsertion("bob", "sesame", 2, 8192)) == {"bob": 0}
    assert await described(admin) == {"ada": {1: 4096, 2: 4096}, "bob": {2: 8192}}
    for mechanism, error in (("SCRAM-SHA-512", 0), ("PLAIN", 0), ("SCRAM-SHA-256", FAILED)):
        async with KafkaClient(address) as client:
            assert (await log_in(client, mechanism, "bob", "sesame")).error_code == error


async def test_a_credential_that_was_removed_proves_nothing_any_more(admin, address):
    assert await alter(admin, deletions=[("ada", 1)]) == {"ada": 0}
    assert await described(admin) == {"ada": {2: 4096}}
    async with KafkaClient(address) as client:
        assert (await log_in(client, "SCRAM-SHA-256", "ada", "pässword")).error_code == FAILED
    assert await alter(admin, deletions=[("ada", 2)]) == {"ada": 0}
    assert await described(admin) == {}


async def test_invalid_credentials_are_refused_and_the_others_changed(admin):
    wrong = [
        upsertion("few", iterations=4095), upsertion("many", iterations=16_385), upsertion("odd", mechanism=3),
        upsertion("short", salted=b"x"), upsertion("salted", salt=b"s" * 1025), upsertion("", "x"),
        upsertion("twin"), upsertion("twin", mechanism=2), upsertion("line\n"), upsertion("good"),
    ]  # fmt: skip
    assert await alter(admin, *wrong, deletions=[("unknown", 1), ("ada", 7)]) == {
        "few": UNACCEPTABLE, "many": UNACCEPTABLE, "odd": UNSUPPORTED_MECHANISM, "short": UNACCEPTABLE,
        "salted": UNACCEPTABLE, "": UNACCEPTABLE, "twin": DUPLICATE, "line\n": UNACCEPTABLE, "good": 0,
        "unknown": NOT_FOUND, "ada": UNSUPPORTED_MECHANISM,
    }  # fmt: skip
    assert (await described(admin)).keys() == {"ada", "good"}


async def test_users_are_described_by_name(admin):
    assert await described(admin, "ada", "eve", "bob", "bob", "") == {
        "ada": {1: 4096, 2: 4096},
        "eve": NOT_FOUND,
        "bob": DUPLICATE,
        "": NOT_FOUND,
    }


async def test_passwords_are_not_stored(broker):
    (row,) = (v for k, v in (await stored(broker)).items() if k == b"ada")
    assert "pässword".encode() not in row
    assert b"stored_key" in row


async def stored(broker: Broker) -> dict[bytes, bytes]:
    key = CatalogKeys(broker.store.prefix).users
    rows = await broker.store.command("HGETALL", key, key=key)
    return dict(zip(rows[::2], rows[1::2], strict=True))


async def test_concurrent_changes_of_one_user_are_not_lost(redis_url, prefix):
    async with two(redis_url, prefix) as (first, second):
        made, _ = await first.scram_credentials.verifier("x", "SCRAM-SHA-256")
        await asyncio.gather(
            *(broker.scram_credentials.change("bob", {m: made}) for broker in (first, second) for m in HASHES)
        )
        assert (await second.scram_credentials.all())["bob"].keys() == HASHES.keys()


async def test_users_come_and_go(broker):
    assert await broker.scram_credentials.add("bob", "one") is True
    assert await broker.scram_credentials.add("bob", "two") is False
    await broker.scram_credentials.check_password("bob", "two")
    with pytest.raises(AuthenticationFailed):
        await broker.scram_credentials.check_password("bob", "one")
    await broker.scram_credentials.remove("bob")
    with pytest.raises(UnknownUser):
        await broker.scram_credentials.remove("bob")
    for name, password in (("", "x"), ("a\tb", "x"), ("a" * 256, "x"), ("a", ""), ("*", "x"), (" ", "x")):
        with pytest.raises(UnacceptableCredential):
            await broker.scram_credentials.add(name, password)
    with pytest.raises(UnknownUser):
        await broker.scram_credentials.remove("")


async def test_a_broker_without_any_login_reports_it(redis_url, prefix):
    with structlog.testing.capture_logs() as logs:
        async with one(redis_url, prefix, auth_required=True):
            pass
        async with one(redis_url, prefix, auth_required=True) as broker:
            id, _ = await broker.security.create_token("User:ada")
        async with one(redis_url, prefix, auth_required=True) as broker:
            await broker.scram_credentials.add("ada", "x")
            await broker.security.revoke_token(id)
        async with one(redis_url, prefix, auth_required=True):
            pass
    # The first two; the third knew a token, the last knows a user
    assert [each["log_level"] for each in logs if "there are no credentials" in each["event"]] == ["warning"] * 2


async def is_closed(client: KafkaClient) -> bool:
    try:
        await client.ask(MetadataRequest(), 12)
    except CLOSED:
        return True
    return False


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_changed_password_ends_the_sessions_of_its_user_at_all_brokers(redis_url, prefix, mechanism):
    async with two(redis_url, prefix, auth_required=True, allow_everyone_if_no_acl=True) as (first, second):
        for user in ("ada", "eve"):
            await first.scram_credentials.add(user, "one")
        async with listening(second) as address, KafkaClient(address) as ada, KafkaClient(address) as eve:
            for client, user in ((ada, "ada"), (eve, "eve")):
                assert (await log_in(client, mechanism, user, "one")).error_code == 0
            await first.scram_credentials.add("ada", "two")
            assert await eventually(lambda: is_closed(ada), True, 5.0)
            assert not await is_closed(eve)
            async with KafkaClient(address) as again:
                assert (await log_in(again, mechanism, "ada", "two")).error_code == 0
                await asyncio.sleep(2 * server.CHECK_EVERY_S)
                assert not await is_closed(again)
