"""Sends thousands of mutated frames to a Kafka port: valid requests are answered, other clients served.

`scripts/check.py fuzz` does this for ten minutes to a broker in another process; this test uses a fixed seed and a
listener in this process.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import struct
from random import Random
from typing import Any

import pytest

from redis_ledger.broker import event_loop_lag
from redis_ledger.kafka.protocol.messages.alter_configs_request import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.telemetry import logs
from tests.fuzz import afterwards, corpus, scenes
from tests.fuzz.drive import Driver
from tests.fuzz.findings import Findings
from tests.fuzz.honest import Honest
from tests.fuzz.mutate import Mutator, described, framed
from tests.fuzz.words import Words
from tests.support.broker import one
from tests.support.kafka_batches import batch, produce
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_codec import read_response

SEED = 20_261_121
CASES, SENDERS = 1_200, 6
TIMEOUT_MS = 5_000
SETTINGS: dict[str, Any] = {
    "max_transaction_timeout_ms": TIMEOUT_MS, "default_timeout_ms": TIMEOUT_MS, "kafka_frame_ms": 1_000,
    "sweep_interval_ms": 200, "group_initial_rebalance_delay_ms": 10,
}  # fmt: skip
LOGIN = {17, 18, 36}  # SaslHandshake, ApiVersions, SaslAuthenticate
# Requests that once raised in the broker or got no response; found by `scripts/check.py fuzz` and reduced by hand.
LONG = "x" * 32_767
TRANSACTIONAL = batch("a", producer=(1, 0, 0), transactional=True)
HARMFUL = {
    "a length that cannot be, behind a sound request": "000000140012000300000001000466757a7a00026102310000000001",
    "Metadata 10, no name": "000000260003000a00000001000466757a7a000200000000000000000000000000000000000001000000",
    "Metadata 11 by id": "000000250003000b00000001000466757a7a0002000102030405060708090a0b0c0d0e0f0000010000",
    "EndTxn of an unknown id": "0000001c001a000300000001000466757a7a00010000000000000000ffff0100",
    "AddOffsetsToTxn of an unknown id": "0000001d0019000300000001000466757a7a00010000000000000000ffff026700",
    "a batch with acks=0": ("000000280000000900000001000466757a7a00000000000013880208616273656e742e020000000000000000"),
    "ListTransactions by a pattern beyond reason": (
        "000000290042000200000001000466757a7a000101ffffffffffffffff0f617b39393939393939393939397d00"
    ),
    "Produce 8 under a name too long to be echoed": framed(
        corpus.write(0, 8, 1, produce("t", TRANSACTIONAL, transactional_id=LONG))
    ).hex(),
    "Produce 10 under a name too long to be echoed": framed(
        corpus.write(0, 10, 1, produce("t", TRANSACTIONAL, transactional_id=LONG))
    ).hex(),
    "AlterConfigs 0 of a name too long to be echoed, without a value": framed(
        corpus.write(33, 0, 1, AlterConfigsRequest([AlterConfigsResource(2, "t", [AlterableConfig(LONG, None)])]))
    ).hex(),
}


class Heard:
    """Collects this process's log and the exceptions of tasks that are never awaited."""

    def __init__(self) -> None:
        self.findings, self._lines = Findings(SEED), io.StringIO()
        logs.configure("warning", self._lines)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: self.findings.add("loop", str(context)))

    def collected(self) -> dict[str, str]:
        """Findings by signature, with those of the log."""
        for line in self._lines.getvalue().splitlines():
            self.findings.read_line(line)
        return {signature: found.detail for signature, found in self.findings.found.items()}


@pytest.fixture
async def heard():
    yield Heard()
    logs.configure("warning")


def test_the_same_seed_and_number_make_the_same_frames():
    first, second = (Mutator(SEED, Words()) for _ in range(2))
    for number in range(200):
        assert first.case(number).pieces == second.case(number).pieces


def test_a_sound_frame_is_made_of_every_version_that_is_served():
    words, rng = Words(), Random(SEED)
    for key, version in corpus.served():
        frame = corpus.write(key, version, 1, corpus.make(key, version, words, rng))
        assert described(frame, 1).is_sound, f"{key} {version}: {frame.hex()}"


def test_client_requests_are_recorded_for_most_apis_and_stay_small():
    kept = {seed.key for seed in corpus.captured()}
    served = {key for key, _ in corpus.served()}
    # Not sent: logins, rules and quotas (the broker has no authentication), and epochs, which are not needed
    # where no leader changes.
    assert served - kept <= {17, 23, 29, 30, 31, 36, 48, 49}
    assert sum(len(seed.frame) for seed in corpus.captured()) < 300_000


async def test_mutated_frames_are_answered_or_refused_and_honest_clients_are_served_meanwhile(
    redis_url, prefix, heard, monkeypatch
):
    monkeypatch.setattr(event_loop_lag, "STALL_S", 600.0)  # senders and broker share an event loop
    async with one(redis_url, prefix, **SETTINGS) as broker, listening(broker) as address:
        words = Words()
        driver = Driver(address, Mutator(SEED, words), words, heard.findings, frame_s=1)
        honest = [Honest(address, f"honest-{new}", modern=new, timeout_ms=TIMEOUT_MS) for new in (False, True)]
        # Given topics to meet, and two clients that do transactions
        async with KafkaClient(address) as janitor:
            for _ in range(2):
                await scenes.put_in_order(janitor, words)
        storm_is_over = asyncio.Event()
        beside = [asyncio.create_task(client.run(storm_is_over.is_set)) for client in honest]
        beside.append(asyncio.create_task(scenes.keep_order(address, words, heard.findings, storm_is_over.is_set)))
        # When senders are through with their cases
        await asyncio.gather(*(driver.run(number, SENDERS, lambda: False, CASES) for number in range(SENDERS)))
        await driver.finish(30)
        storm_is_over.set()
        await asyncio.gather(*beside)
        # Then nothing was raised, the two got what they had to get, and no reader is held up
        assert all(client.took_s for client in honest)
        async with KafkaClient(address) as client:
            await afterwards.readers_go_on(client, heard.findings)
        assert heard.collected() == {}
        assert sum(driver.tally.answered.values()) > CASES / 4


@pytest.mark.parametrize("sent", HARMFUL.values(), ids=HARMFUL)
async def test_known_attack_frames_are_answered_or_refused(redis_url, prefix, heard, sent):
    async with one(redis_url, prefix, **SETTINGS) as broker, listening(broker) as address:
        await broker.topics.create("t")
        answers = await afterwards.send_alone(address, bytes.fromhex(sent), within_s=3)
    assert answers != [], "silence"
    for answer in filter(None, answers):
        key, version = struct.unpack_from(">hh", bytes.fromhex(sent), 4)
        read_response(key, version, memoryview(answer))
    assert heard.collected() == {}


async def test_mutated_frames_do_not_bypass_the_login(redis_url, prefix, heard):
    async with (
        one(redis_url, prefix, auth_required=True, allow_everyone_if_no_acl=True, **SETTINGS) as broker,
        listening(broker) as address,
    ):
        words = Words()
        drivers = [
            Driver(address, Mutator(SEED, words, only), words, heard.findings, frame_s=1, may_be_closed=True)
            for only in (LOGIN, None)
        ]
        turns = itertools.product(drivers, range(3))
        await asyncio.gather(*(driver.run(number, 3, lambda: False, 300) for driver, number in turns))
        for driver in drivers:
            await driver.finish(30)
        assert heard.collected() == {}
        assert {key for driver in drivers for key, _ in driver.tally.answered} <= LOGIN
        async with KafkaClient(address) as client:
            assert (await client.ask(ApiVersionsRequest("a", "1"), 3)).error_code == 0
