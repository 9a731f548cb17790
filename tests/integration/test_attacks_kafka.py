"""Attacks on the Kafka port and on TLS handshakes, over real sockets: each is refused without effect."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiokafka.conn import ScramAuthenticator

from redis_ledger.app.http import server as http_server
from redis_ledger.app.http.application import create_app
from redis_ledger.app.process import tls
from redis_ledger.auth import scram as scram_keys
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.produce import record_checks
from redis_ledger.broker.security import scram_credentials
from redis_ledger.broker.types import Skipped
from redis_ledger.config import Config
from redis_ledger.errors import AuthenticationFailed
from redis_ledger.kafka import server as kafka_server
from redis_ledger.kafka.handlers.sasl_handshake import ILLEGAL_SASL_STATE
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.open_connections import LOGIN_BYTES_MAX
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from redis_ledger.records.compression import pack
from redis_ledger.records.layout import batch_of
from tests.support.attack_target import PATIENCE_S, AttackTarget, attack_target
from tests.support.bombs import NOW_MS, ZSTD, record
from tests.support.broker import one
from tests.support.busy_machine import wait_for
from tests.support.certificates import Authority
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_codec import request

CLOSED = (ConnectionError, asyncio.IncompleteReadError)
FAILED, TOPIC_FORBIDDEN = 58, 29


@pytest.fixture
async def target(redis_url, prefix) -> AsyncIterator[AttackTarget]:
    async with attack_target(redis_url, prefix, kafka_frame_ms=500) as opened:
        await opened.broker.scram_credentials.add("ada", "sesame")
        await opened.broker.scram_credentials.add("eve", "open")
        await opened.allow("ada", Op.WRITE, Resource.TOPIC, "orders")
        yield opened


async def handshake(client: KafkaClient, mechanism: str) -> int:
    return int((await client.ask(SaslHandshakeRequest(mechanism), 1)).error_code)


async def send(client: KafkaClient, token: bytes) -> Any:
    return await client.ask(SaslAuthenticateRequest(token), 2)


def scram(user: str, password: str) -> Any:
    """Gives the client's messages: next(), then send(the server's)."""
    return ScramAuthenticator(
        loop=None, sasl_plain_password=password, sasl_plain_username=user, sasl_mechanism="SCRAM-SHA-256"
    ).authenticator_scram()


async def is_refused(client: KafkaClient) -> bool:
    """Whether the connection is closed or unauthenticated."""
    try:
        await client.ask(produce("orders", batch("x")), 9)
    except CLOSED:
        return True
    return False


async def test_scram_messages_that_were_heard_cannot_be_sent_again(target):
    heard: list[bytes] = []
    async with KafkaClient(target.kafka) as honest:
        assert await handshake(honest, "SCRAM-SHA-256") == 0
        steps = scram("ada", "sesame")
        first, _ = next(steps)
        heard.append(first)
        answer = await send(honest, first)
        final, _ = steps.send(answer.auth_bytes)
        heard.append(final)
        assert (await send(honest, final)).error_code == 0
        assert (await send(honest, final)).error_code == ILLEGAL_SASL_STATE  # nor on the same connection
    async with KafkaClient(target.kafka) as thief:
        assert await handshake(thief, "SCRAM-SHA-256") == 0
        assert (await send(thief, heard[0])).error_code == 0  # the first says only who wants to log in
        assert (await send(thief, heard[1])).error_code == FAILED
        assert await is_refused(thief)
    assert await target.written() == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.replace(b"c=biws", b"c=eSws"),  # another channel binding than was said
        lambda token: token.replace(b",r=", b",r=x", 1),  # another nonce
        lambda token: token[: token.index(b",p=")] + b",p=" + b"A" * 44,
        lambda token: token + b"=",
        lambda token: token.split(b",p=")[0],
        lambda token: b"",
    ],
)
async def test_a_scram_proof_that_was_changed_proves_nothing(target, change):
    async with KafkaClient(target.kafka) as client:
        assert await handshake(client, "SCRAM-SHA-256") == 0
        steps = scram("ada", "sesame")
        first, _ = next(steps)
        final, _ = steps.send((await send(client, first)).auth_bytes)
        assert (await send(client, change(final))).error_code == FAILED
        assert await is_refused(client)


async def test_a_login_keeps_to_its_mechanism_and_there_are_no_weak_ones(target):
    async with KafkaClient(target.kafka) as client:
        assert await handshake(client, "SCRAM-SHA-512") == 0
        assert await handshake(client, "PLAIN") == ILLEGAL_SASL_STATE
        assert (await send(client, b"\0ada\0sesame")).error_code == FAILED  # PLAIN within SCRAM
        assert await is_refused(client)
    for weak in ("ANONYMOUS", "CRAM-MD5", "SCRAM-SHA-1", "GSSAPI", "OAUTHBEARER", "plain", "", "PLAIN\0"):
        async with KafkaClient(target.kafka) as client:
            assert await handshake(client, weak) != 0
            assert await is_refused(client)


@pytest.mark.parametrize(
    "token",
    [
        b"root\0ada\0sesame",  # authorization id of another user
        b"User:root\0ada\0sesame",
        b"\0ada\0sesame\0root",
        b"\0ada",
        b"\0\0",
        b"\0ada\0",
        b"\0\xff\0sesame",
        b"\0token\0",
        b"\0token\0sesame",
        b"\0ada\0Sesame",
        b"\0ADA\0sesame",
        b"\0ada \0sesame",
        b"\0" + "аda".encode() + b"\0sesame",  # a Cyrillic a
    ],
)
async def test_plain_requires_the_password_of_the_same_user(target, token):
    async with KafkaClient(target.kafka) as client:
        assert await handshake(client, "PLAIN") == 0
        assert (await send(client, token)).error_code == FAILED
        assert await is_refused(client)
    assert await target.written() == 0


async def test_nothing_is_done_before_a_login_and_what_follows_unread_is_dropped(target):
    for message, version in ((MetadataRequest([]), 9), (produce("orders", batch("x")), 9)):
        async with KafkaClient(target.kafka) as client:
            with pytest.raises(CLOSED):
                await client.ask(message, version)
    # behind a login that fails, in one piece
    reader, writer = await asyncio.open_connection(*target.kafka)
    writer.writelines(request(17, 1, 1, "a", SaslHandshakeRequest("PLAIN")))
    writer.writelines(request(36, 2, 2, "a", SaslAuthenticateRequest(b"\0ada\0wrong")))
    writer.writelines(request(0, 9, 3, "a", produce("orders", batch("x"))))
    with contextlib.suppress(ConnectionError):
        assert await wait_for(reader.read(), PATIENCE_S) != b""
    writer.close()
    assert await target.written() == 0


async def test_connection_keeps_its_principal(target):
    async with KafkaClient(target.kafka) as client:
        assert await handshake(client, "PLAIN") == 0
        assert (await send(client, b"\0eve\0open")).error_code == 0
        assert await handshake(client, "PLAIN") == ILLEGAL_SASL_STATE
        assert (await send(client, b"\0ada\0sesame")).error_code == ILLEGAL_SASL_STATE
        answer = await client.ask(produce("orders", batch("x")), 9)
        assert answer.responses[0].partition_responses[0].error_code == TOPIC_FORBIDDEN
    assert await target.written() == 0


async def test_names_in_requests_are_no_patterns_and_no_keys(target):
    async with KafkaClient(target.kafka) as client:
        assert await handshake(client, "PLAIN") == 0
        assert (await send(client, b"\0ada\0sesame")).error_code == 0
        for name in ("*", "orders*", "ORDERS", "orders\0", "../orders", "{orders:0}:log", "orders}:{x", "ордерс"):
            answer = await client.ask(produce(name, batch("x")), 9)
            assert answer.responses[0].partition_responses[0].error_code in (3, 17, TOPIC_FORBIDDEN), name
            topic = [MetadataRequestTopic(name=name)]
            shown = (await client.ask(MetadataRequest(topic, allow_auto_topic_creation=True), 9)).topics[0]
            assert shown.error_code in (3, 17, TOPIC_FORBIDDEN), name
    assert [each.name for each in await target.broker.topics.list()] == ["orders"]


@pytest.mark.parametrize("size", [LOGIN_BYTES_MAX + 1, 1 << 30, (1 << 31) - 1, -1, -(1 << 31)])
async def test_a_length_that_is_only_claimed_takes_no_memory(target, size):
    reader, writer = await asyncio.open_connection(*target.kafka)
    writer.write(struct.pack(">i", size) + b"x" * 100)
    with contextlib.suppress(ConnectionError):
        assert await wait_for(reader.read(), PATIENCE_S) == b""
    writer.close()


async def test_half_frames_are_given_up_however_slowly_they_continue(target):
    reader, writer = await asyncio.open_connection(*target.kafka)
    began = time.monotonic()
    whole = b"".join(request(18, 3, 1, "a", ApiVersionsRequest("a" * 200, "1")))

    async def trickle() -> None:
        for byte in whole[:-1]:
            writer.write(bytes((byte,)))
            await asyncio.sleep(0.05)  # an attacker's pace

    sending = asyncio.ensure_future(trickle())
    with contextlib.suppress(ConnectionError):
        assert await wait_for(reader.read(), PATIENCE_S) == b""
    assert time.monotonic() - began < 9.0
    sending.cancel()
    writer.close()


async def test_a_user_that_is_not_there_takes_as_long_as_a_wrong_password(target, monkeypatch):
    """Nearly all of that time is the derivation of a key, whose cost is its iterations."""
    derived: list[tuple[str, int]] = []

    def salt_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
        derived.append((mechanism, iterations))
        return derive(mechanism, password, salt, iterations)

    async def cost(token: bytes) -> list[tuple[str, int]]:
        derived.clear()
        async with KafkaClient(target.kafka) as client:
            await handshake(client, "PLAIN")
            answer = await send(client, token)
            assert (answer.error_code, "ada" in (answer.error_message or "")) == (FAILED, False)
        return [*derived]

    derive = scram_keys.salt_password
    monkeypatch.setattr(scram_keys, "salt_password", salt_password)
    known, unknown = await cost(b"\0ada\0wrong"), await cost(b"\0nobody\0wrong")
    assert known == unknown
    assert len(known) == 1


async def test_many_concurrent_password_attempts_do_not_delay_other_clients(target, monkeypatch):
    done: list[str] = []

    def slowly(mechanism: str, password: str, verifier: object) -> bool:
        time.sleep(0.05)  # the work of a password, in a thread
        return password == "sesame"

    monkeypatch.setattr(scram_credentials, "is_password", slowly)

    async def tries(password: str, host: str) -> None:
        with contextlib.suppress(AuthenticationFailed):
            await target.broker.scram_credentials.check_password("ada", password, host)
        done.append(host)

    flood = [asyncio.create_task(tries("wrong", "10.0.0.66")) for _ in range(30)]
    await asyncio.sleep(0.1)  # until they all wait
    await tries("sesame", "10.0.0.7")
    assert done.count("10.0.0.66") < 10
    await asyncio.gather(*flood)


async def keeps_asking(client: KafkaClient) -> None:
    while True:
        await client.ask(ApiVersionsRequest("a", "1"), 3)
        await asyncio.sleep(0.1)  # an attacker's pace


async def test_unauthenticated_connection_is_closed(target, monkeypatch):
    """At the connection limit, further connections are refused."""
    monkeypatch.setattr(kafka_server, "LOGIN_S_MAX", 2.0)  # ada logs in within it on a busy machine, too
    async with (
        KafkaClient(target.kafka) as silent,
        KafkaClient(target.kafka) as asking,
        KafkaClient(target.kafka) as ada,
    ):
        assert await handshake(ada, "PLAIN") == 0
        assert (await send(ada, b"\0ada\0sesame")).error_code == 0
        with pytest.raises(CLOSED):
            await keeps_asking(asking)
        assert await wait_for(silent._reader.read(), PATIENCE_S) == b""
        assert (await ada.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0


async def test_a_tls_handshake_that_stalls_is_given_up_at_both_doors(redis_url, prefix, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(http_server, "HANDSHAKE_S_MAX", 0.5)
    monkeypatch.setattr(kafka_server, "HANDSHAKE_S_MAX", 0.5)
    certificate, key = Authority(tmp_path).issue("broker")
    made = tls.Tls(Config(tls_certificate=str(certificate), tls_key=str(key)))
    async with one(redis_url, prefix) as broker, contextlib.AsyncExitStack() as stack:
        bound = socket.create_server(("127.0.0.1", 0))
        bound.setblocking(False)
        listening = kafka_server.KafkaServer(broker, [Listener(bound, tls=made.doorway("kafka"))])
        await listening.start()
        stack.push_async_callback(listening.stop, 0.2)
        http = http_server.HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=1, tls=made.doorway("http"))
        await http.start()
        stack.push_async_callback(http.stop)
        port = int(http.address.rpartition(":")[2])
        for where in (bound.getsockname()[1], port):
            for sent in (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
                reader, writer = await asyncio.open_connection("127.0.0.1", where)
                began = time.monotonic()
                writer.write(sent)
                with contextlib.suppress(ConnectionError):
                    assert await wait_for(reader.read(), PATIENCE_S) == b""
                assert time.monotonic() - began < 9.0
                writer.close()


@pytest.mark.parametrize("kind", ["shared", "key_shared", "exclusive"])
async def test_a_batch_that_claims_many_records_is_skipped_in_a_few_steps(redis_url, prefix, kind, monkeypatch):
    body = batch_of(
        pack(ZSTD, record(None, b"a")), attributes=ZSTD, last_offset_delta=4_999, base_ms=NOW_MS, newest_ms=NOW_MS,
        count=5_000,
    )  # fmt: skip
    monkeypatch.setattr(record_checks, "FIRST", 0)  # it is not among those of which the records are checked
    async with one(redis_url, prefix) as broker, listening(broker) as address, KafkaClient(address) as client:
        await broker.topics.create("t")
        for each in (body, batch("after")):
            assert produced(await client.ask(produce("t", each), 9)).error_code == 0
        await broker.subscriptions.create("t", "s", kind)
        calls = 0
        call = broker.store.call

        async def counted(*args: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            return await call(*args, **more)

        monkeypatch.setattr(broker.store, "call", counted)
        got = await broker.subscriptions.receive("t", "s", "c", max_records=10)
        assert [each.value for each in got] == [b"after"]
        assert calls < 100


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
async def test_a_batch_of_many_records_that_is_too_large_is_skipped_at_once(redis_url, prefix, kind):
    values = b"".join(record(None, bytes(700), offset_delta=n) for n in range(5_000))
    body = batch_of(
        pack(ZSTD, values), attributes=ZSTD, last_offset_delta=4_999, base_ms=NOW_MS, newest_ms=NOW_MS, count=5_000
    )
    async with (
        one(redis_url, prefix, batch_decoded_bytes_max=1 << 20, request_decoded_bytes_max=1 << 20) as broker,
        listening(broker) as address,
        KafkaClient(address) as client,
    ):
        await broker.topics.create("t")
        for each in (body, batch("after")):
            assert produced(await client.ask(produce("t", each), 9)).error_code == 0
        await broker.subscriptions.create("t", "s", kind)
        skipped: list[Skipped] = []
        budget = partial(broker.decoding.budget, 1 << 20)
        await broker.subscriptions.receive("t", "s", "c", max_records=10, skipped=skipped, budget=budget)
        assert [(each.first_offset, each.last_offset) for each in skipped] == [(0, 9), (10, 4_999)]
