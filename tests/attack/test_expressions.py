"""Regular expressions of consumer groups (KIP-848): a client chooses the expression, and many long names are there."""

from __future__ import annotations

import itertools
import uuid

import pytest

from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

WORDS = "payments orders eu west invoices audit users clicks billing retry dead shop cart stock mail".split()
TOPICS = 150
INVALID_REGEX = 128


@pytest.fixture(scope="module")
def names(siege):
    for number, words in enumerate(itertools.islice(itertools.permutations(WORDS, 12), TOPICS)):
        assert siege.post("/v1/topics", {"name": "-".join(words) + f".v{number}"})[0] in (201, 409)
    siege.check(livez_s_max=5.0)  # making topics is not the attack


@pytest.mark.parametrize("text", ["(.?){660}x", "(.*[a-m].{300})|x", "((a|e|i).{0,60}){8}z"])
async def test_an_expression_that_is_dear_to_match_holds_up_nobody(siege, names, text):
    siege.forget()  # the topics may have been made a moment ago
    async with siege.kafka() as client:
        for more in range(3):
            request = ConsumerGroupHeartbeatRequest(
                "g", str(uuid.uuid4()), 0, rebalance_timeout_ms=60_000, subscribed_topic_names=[], topic_partitions=[],
                subscribed_topic_regex=text + "y" * more,
            )  # fmt: skip
            assert (await client.ask(request, 1)).error_code == 0
    siege.check()


async def test_one_of_too_many_instructions_is_refused(siege):
    async with siege.kafka() as client:
        for text in ("(.?){1000}x", "((a{100}){100}){100}", "(" * 3_000):
            request = ConsumerGroupHeartbeatRequest(
                "g2", str(uuid.uuid4()), 0, rebalance_timeout_ms=60_000, subscribed_topic_names=[], topic_partitions=[],
                subscribed_topic_regex=text,
            )  # fmt: skip
            answer = await client.ask(request, 1)
            assert (answer.error_code, answer.member_id) == (INVALID_REGEX, None), answer
    siege.check()
