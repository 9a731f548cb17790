"""The Kafka port under bad and slow clients: each is closed with a reason, and other clients are unaffected."""

from __future__ import annotations

import asyncio
import socket
import struct
import time

import pytest

from redis_ledger.kafka.connection import Connection
from redis_ledger.kafka.open_connections import OpenConnections
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.router import routes
from redis_ledger.kafka.security import session_revocation
from tests.support.broker import one
from tests.support.busy_machine import busy_machine, wait_for, within
from tests.support.kafka_batches import batch, fetch, fetched, produce, produced, values
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_codec import read_response, request

UNSUPPORTED_VERSION = 35


@pytest.fixture
async def broker(redis_url, prefix):
    limits = one(
        redis_url, prefix, kafka_frame_ms=700, kafka_connections_max=5, kafka_request_bytes_max=1 << 20
    )  # fmt: skip
    async with limits as broker:
        await broker.topics.create("t")
        yield broker


async def raw(address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*address)


async def is_closed(reader: asyncio.StreamReader, within_s: float = 5) -> bool:
    """Whether the broker closes the connection without a reply."""
    try:
        return await wait_for(reader.read(1), within_s) == b""
    except ConnectionResetError:
        return True


async def is_served(address) -> bool:
    async with KafkaClient(address) as client:
        answer = await client.ask(ApiVersionsRequest("a", "1"), 3)
        return bool(answer.error_code == 0)


async def test_api_versions_lists_exactly_the_routed_apis(broker):
    async with listening(broker) as address, KafkaClient(address) as client:
        for version in range(5):
            keys = (await client.ask(ApiVersionsRequest("test", "1.0"), version)).api_keys
            versions = {key.api_key: (key.min_version, key.max_version) for key in keys}
            assert versions == {route.key: (route.version_min, route.version_max) for route in routes().values()}


async def test_a_version_of_api_versions_we_do_not_know_is_answered_in_version_0(broker):
    async with listening(broker) as address:
        reader, writer = await raw(address)
        body = struct.pack(">hhih", 18, 99, 5, -1) + b"\0"
        writer.write(struct.pack(">i", len(body)) + body)
        size = int.from_bytes(await reader.readexactly(4), "big")
        number, answer = read_response(18, 0, memoryview(await reader.readexactly(size)))
        assert (number, answer.error_code) == (5, UNSUPPORTED_VERSION)
        assert len(answer.api_keys) == len(routes())
        writer.close()


async def test_newer_client_falls_back_to_supported_versions(broker):
    """ApiVersions 5 of Kafka 4.4 names a cluster and a node behind the client's software."""
    async with listening(broker) as address:
        reader, writer = await raw(address)
        body = (
            struct.pack(">hhih", 18, 5, 7, 1) + b"c" + b"\0" + b"\x05java" + b"\x064.4.0" + b"\0" + b"\xff" * 4 + b"\0"
        )
        writer.write(struct.pack(">i", len(body)) + body)
        size = int.from_bytes(await reader.readexactly(4), "big")
        number, answer = read_response(18, 0, memoryview(await reader.readexactly(size)))
        assert (number, answer.error_code) == (7, UNSUPPORTED_VERSION)
        versions = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
        assert versions[18] == (0, 4)
        body = struct.pack(">hhih", 18, 4, 8, 1) + b"c" + b"\0" + b"\x05java" + b"\x064.4.0" + b"\0"
        writer.write(struct.pack(">i", len(body)) + body)
        size = int.from_bytes(await reader.readexactly(4), "big")
        number, answer = read_response(18, 4, memoryview(await reader.readexactly(size)))
        assert (number, answer.error_code) == (8, 0)
        writer.close()


# Share groups, streams groups, elections, reassignments, delegation tokens and client metrics, by Kafka's keys.
NOT_SERVED = (38, 39, 40, 41, 43, 45, 46, 71, 72, 76, 77, 78, 79, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92)


async def test_unsupported_apis_are_not_advertised_and_close_only_their_connection(broker, capsys):
    """As in Kafka: a client that read the list refuses by itself, and one that did not is disconnected."""
    async with listening(broker) as address:
        async with KafkaClient(address) as client:
            advertised = {key.api_key for key in (await client.ask(ApiVersionsRequest("a", "1"), 3)).api_keys}
            assert advertised & set(NOT_SERVED) == set()
            for key in NOT_SERVED:
                reader, writer = await raw(address)
                body = struct.pack(">hhih", key, 0, 1, 1) + b"c" + b"\0" * 8
                writer.write(struct.pack(">i", len(body)) + body)
                assert await is_closed(reader), key
                writer.close()
            assert f"there is no API {NOT_SERVED[0]}" in capsys.readouterr().err
            assert (await client.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">i", 1 << 30),
        struct.pack(">ihhih", 10, 999, 0, 1, -1),
        struct.pack(">ihhih", 10, 0, 99, 1, -1),
        struct.pack(">ihhih", 10, 1, 4, 1, 5),
        struct.pack(">ihhih", 10, 3, 0, 1, -1),
        struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0x7FFFFFFF),
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
    ids=["negative", "empty", "huge", "no such API", "no such version", "client id", "no body", "huge array", "HTTP"],
)
async def test_a_frame_that_makes_no_sense_closes_its_connection_and_no_other(broker, sent, capsys):
    async with listening(broker) as address, KafkaClient(address) as honest:
        reader, writer = await raw(address)
        writer.write(sent)
        assert await is_closed(reader)
        writer.close()
        assert (await honest.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "a Kafka connection was closed" in line]
    assert len(lines) == 1


async def test_half_a_frame_is_given_up_and_a_slow_whole_one_is_not(broker):
    async with listening(broker) as address:
        reader, writer = await raw(address)
        writer.write(struct.pack(">i", 100) + b"half")
        whole = b"".join(request(18, 0, 1, "slow", ApiVersionsRequest()))
        slow_reader, slow_writer = await raw(address)
        for piece in (whole[:3], whole[3:9], whole[9:]):
            slow_writer.write(piece)
            await asyncio.sleep(0.1)  # so that they arrive one after the other
        assert len(await slow_reader.readexactly(4)) == 4
        assert await is_closed(reader)
        writer.close()
        slow_writer.close()


async def test_a_client_that_always_has_half_a_frame_under_way_is_served_as_long_as_frames_get_whole(broker):
    async with listening(broker) as address:
        reader, writer = await raw(address)
        sent = [b"".join(request(18, 0, number, "steady", ApiVersionsRequest())) for number in range(30)]
        stream = b"".join(sent)
        size = len(stream) // len(sent)
        writer.write(stream[: size // 2])
        for at in range(size // 2, len(stream) - size // 2, size):
            writer.write(stream[at : at + size])
            await asyncio.sleep(0.1)  # four times as long as the deadline of one frame, all together
        writer.write(stream[at + size :])
        for number in range(len(sent)):
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            assert int.from_bytes(answer[:4], "big") == number
        writer.close()


async def test_half_a_frame_is_given_up_while_logins_cannot_be_checked(broker, monkeypatch):
    """Redis hangs: the deadlines of connections do not wait for it."""

    async def hangs(peers, broker):
        await asyncio.Event().wait()

    monkeypatch.setattr(session_revocation, "over", hangs)
    async with listening(broker) as address:
        reader, writer = await raw(address)
        await asyncio.sleep(1.2)  # the first check has begun
        writer.write(struct.pack(">i", 100) + b"half")
        assert await is_closed(reader)
        writer.close()


async def test_time_in_which_a_client_is_not_read_from_does_not_count_against_its_half_frame(redis_url, prefix):
    limits = one(redis_url, prefix, kafka_frame_ms=1_500, quota_bytes_in_per_s=100_000)
    async with limits as broker, listening(broker) as address:
        await broker.topics.create("t")
        reader, writer = await raw(address)
        whole = b"".join(request(0, 9, 1, "a", produce("t", batch("x" * 900_000))))
        half = b"".join(request(18, 0, 2, "a", ApiVersionsRequest()))
        writer.write(whole + half[:-1])
        answer = memoryview(await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big")))
        muted_ms = read_response(0, 9, answer)[1].throttle_time_ms
        assert muted_ms > 2_000
        await asyncio.sleep(muted_ms / 1000 + 1.2)
        writer.write(half[-1:])
        assert len(await reader.readexactly(4)) == 4
        writer.close()


async def test_no_more_connections_are_taken_than_allowed_and_a_place_that_is_free_is_taken(broker):
    async with listening(broker) as address:
        held = [await raw(address) for _ in range(5)]
        for reader, writer in held:  # they are all in
            writer.write(b"".join(request(18, 0, 1, "a", ApiVersionsRequest())))
            await reader.readexactly(4)
        reader, writer = await raw(address)
        assert await is_closed(reader)
        writer.close()
        held[0][1].close()
        await held[0][1].wait_closed()
        assert await is_served(address)
        for _, other in held[1:]:
            other.close()


async def test_a_request_in_many_pieces_and_many_requests_in_one_piece_are_read_alike(broker):
    async with listening(broker) as address:
        reader, writer = await raw(address)
        large = produce("t", batch(*("x" * 1000 for _ in range(400))))
        frames = [b"".join(request(0, 9, n, "a", large if n % 2 else produce("t", batch("s")))) for n in range(6)]
        sent = b"".join(frames)
        for at in range(0, len(sent), 70_001):
            writer.write(sent[at : at + 70_001])
            await writer.drain()
            await asyncio.sleep(0)
        for n in range(6):
            size = int.from_bytes(await reader.readexactly(4), "big")
            number, answer = read_response(0, 9, memoryview(await reader.readexactly(size)))
            assert (number, produced(answer).error_code) == (n, 0)
        writer.close()


async def test_a_client_that_does_not_read_its_answers_is_not_read_from_for_ever(broker):
    async with listening(broker) as address, KafkaClient(address) as honest:
        await honest.ask(produce("t", batch("x" * 900_000)), 9)
        _, writer = await raw(address)
        one_fetch = b"".join(request(1, 12, 1, "a", fetch("t")))
        sent = 0

        async def flood() -> None:
            nonlocal sent
            while sent < 200_000_000:
                writer.write(one_fetch * 1000)
                sent += len(one_fetch) * 1000
                await writer.drain()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(flood(), 3)
        # It was stopped after a few megabytes, long before it was done
        assert sent < 100_000_000
        assert values(fetched(await honest.ask(fetch("t"), 12))) == ["x" * 900_000]
        writer.transport.abort()


async def test_a_client_that_goes_away_while_it_waits_leaves_nothing_behind(broker):
    async with listening(broker) as address:
        before = len(asyncio.all_tasks())
        for _ in range(5):
            _, writer = await raw(address)
            writer.write(b"".join(request(1, 12, 1, "a", fetch("t", wait_ms=30_000))))
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.transport.abort()
        while len(asyncio.all_tasks()) > before + 1:  # the test has a limit of time
            await asyncio.sleep(0.01)
        assert await is_served(address)


async def test_stopping_listener_ends_long_polls_and_answers_current_requests(broker):
    async with busy_machine() as machine, listening(broker, drain_s=5) as address:
        reader, writer = await raw(address)
        writer.write(b"".join(request(1, 12, 1, "a", fetch("t", wait_ms=30_000))))
        async with KafkaClient(address) as client:
            assert (await client.ask(MetadataRequest(None), 12)).topics[0].name == "t"
        await asyncio.sleep(0.1)
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < 3 + machine.lost_s
    assert await is_closed(reader)
    writer.close()


async def test_half_requests_of_all_clients_together_are_bounded_and_the_next_one_is_refused(redis_url, prefix):
    async with one(redis_url, prefix, client_bytes_max=4 << 20) as broker, listening(broker) as address:
        halves = [await raw(address) for _ in range(6)]
        for _, writer in halves:
            writer.write(struct.pack(">i", 50 << 20) + bytes(900_000))
        closed = await asyncio.gather(*(is_closed(reader, 1) for reader, _ in halves), return_exceptions=True)
        assert True in closed
        assert await is_served(address)


async def test_a_client_that_never_reads_its_answers_is_given_up(redis_url, prefix):
    async with one(redis_url, prefix, kafka_idle_ms=500) as broker, listening(broker) as address:
        await broker.topics.create("t")
        async with KafkaClient(address) as honest:
            await honest.ask(produce("t", batch("x" * 900_000)), 9)
        _, writer = await raw(address)
        writer.write(b"".join(request(1, 12, 1, "a", fetch("t"))) * 100)

        async def gone() -> None:
            while True:
                writer.write(b"\0")
                await writer.drain()
                await asyncio.sleep(0.05)  # between two looks at whether the other side is still there

        with pytest.raises((ConnectionError, TimeoutError)) as ended:
            await wait_for(gone(), 10)
        assert isinstance(ended.value, ConnectionError)


async def test_a_connection_is_given_up_whose_last_answers_are_never_read(redis_url, prefix, monkeypatch):
    """Too few bytes are left for its client to count as one that does not read."""
    connections = list[Connection]()
    monkeypatch.setattr(OpenConnections, "identify", lambda self, peer, transport: connections.extend(self.all()))
    async with one(redis_url, prefix, kafka_idle_ms=1_000) as broker, listening(broker) as address:
        await broker.topics.create("t")
        async with KafkaClient(address) as honest:
            await honest.ask(produce("t", batch("x" * 30_000)), 9)
        connections.clear()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.connect(address)
            asked = b"".join(request(1, 12, 1, "a", fetch("t")))
            while not connections or not unsent(connections[-1]):
                client.send(asked)
                await asyncio.sleep(0.01)
            assert connections[-1].unread_s(time.monotonic()) == 0.0
            async with within(8):
                while unsent(connections[-1]):
                    await asyncio.sleep(0.1)


def unsent(connection: Connection) -> int:
    """Bytes of answers; 0 once the connection is gone."""
    transport = connection._transport
    assert transport is not None
    return 0 if connection.peer.closing.is_set() else transport.get_write_buffer_size()


async def test_pipelined_requests_that_redis_has_not_taken_yet_hold_their_client_back(redis_url, prefix):
    async with one(redis_url, prefix, kafka_inflight_bytes_max=4 << 20) as broker, listening(broker) as address:
        await broker.topics.create("t")
        await broker.store.everywhere("CLIENT", "PAUSE", 1_500)
        _, writer = await raw(address)
        sent, large = 0, b"".join(request(0, 9, 1, "a", produce("t", batch("x" * 100_000))))

        async def flood() -> None:
            nonlocal sent
            while True:
                writer.write(large)
                sent += len(large)
                await writer.drain()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(flood(), 1)
        assert sent < 40_000_000  # what sockets hold, and the limit
        writer.transport.abort()
