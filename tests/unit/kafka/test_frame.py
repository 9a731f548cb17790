"""Lengths and headers: what can be said about a request before its body is looked at."""

from __future__ import annotations

import pytest

from redis_ledger.kafka.protocol import frame
from redis_ledger.kafka.protocol.api import UnknownApi, UnknownVersion
from redis_ledger.kafka.protocol.consumer_protocol import read_assignment, read_subscription
from redis_ledger.kafka.protocol.frame import RequestHeader
from redis_ledger.kafka.protocol.messages import (
    API_VERSIONS,
    consumer_protocol_assignment,
    consumer_protocol_subscription,
)
from redis_ledger.kafka.protocol.messages.heartbeat_response import HeartbeatResponse
from redis_ledger.kafka.protocol.primitives import BadFrame, long_length, uvarint
from redis_ledger.kafka.protocol.registry import message_module
from tests.support import kafka_codec
from tests.support.kafka_codec import assignment, subscription


def header_of(text: str) -> RequestHeader:
    return frame.read_header(memoryview(bytes.fromhex(text)))


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("000c 0003 00000005 0002 6162 99", RequestHeader(12, 3, 5, "ab", 12)),  # classic: no tags
        ("000c 0004 00000005 0002 6162 00 99", RequestHeader(12, 4, 5, "ab", 13)),  # flexible
        ("000c 0004 00000005 ffff 01 07 02 0000 99", RequestHeader(12, 4, 5, None, 15)),  # a tag that we do not know
        ("0012 0000 ffffffff 0000", RequestHeader(18, 0, -1, "", 10)),
        ("0012 0003 00000001 0000 00", RequestHeader(18, 3, 1, "", 11)),
        ("0011 0001 00000001 ffff", RequestHeader(17, 1, 1, None, 10)),  # SaslHandshake never became flexible
    ],
)
def test_a_header_is_read_as_its_version_lays_it_out(text, header):
    assert header_of(text) == header


@pytest.mark.parametrize(
    "text",
    [
        "", "000c", "000c 0003 00000005",
        "000c 0003 00000005 0003 6162", "000c 0003 00000005 fffe", "000c 0003 00000005 0002 c328",
        "000c 0004 00000005 ffff", "000c 0004 00000005 ffff ff", "000c 0004 00000005 ffff 01 07 7f",
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_read_is_a_bad_frame(text):
    with pytest.raises(BadFrame):
        header_of(text)


def test_unknown_api_error_has_the_header_fields():
    with pytest.raises(UnknownApi, match="there is no API 999") as told:
        header_of("03e7 0002 00000007 0001 61")
    assert (told.value.api_key, told.value.version, told.value.correlation_id, told.value.client_id) == (999, 2, 7, "a")


@pytest.mark.parametrize("version", ["0005", "7fff", "ffff"])
def test_unknown_version_error_has_the_correlation_id(version):
    # The layout of the rest is unknown, so it is not read
    with pytest.raises(UnknownVersion, match=r"ApiVersions has no version .*; supported: 0 to 4") as told:
        header_of(f"0012 {version} 00000007 0001 61 ffffffff")
    assert (told.value.api_key, told.value.correlation_id) == (18, 7)


@pytest.mark.parametrize("length", [10, 65_536, 1 << 20])
def test_a_length_within_bounds_is_taken(length):
    assert frame.frame_bytes(length.to_bytes(4, "big") + b"rest", 1 << 20) == length


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 9, (1 << 20) + 1, (1 << 31) - 1])
def test_a_length_out_of_bounds_is_a_bad_frame(length):
    with pytest.raises(BadFrame, match=f"a request of {length} bytes; 10 to 1048576 are allowed"):
        frame.frame_bytes(length.to_bytes(4, "big", signed=True), 1 << 20)


def test_a_response_header_has_tags_in_flexible_versions_but_never_for_apiversions():
    assert b"".join(frame.response(12, 3, 9, HeartbeatResponse())).hex() == "0000000a 00000009 00000000 0000".replace(
        " ", ""
    )
    assert b"".join(frame.response(12, 4, 9, HeartbeatResponse())).hex() == "0000000c000000090000000000000000"
    module = message_module("api_versions_response")
    [answer] = frame.response(18, 3, 9, module.ApiVersionsResponse())
    assert bytes(answer).hex() == "0000000c 00000009 0000 01 00000000 00".replace(" ", "")
    assert kafka_codec.read_response(18, 3, memoryview(answer)[4:]) == (9, module.ApiVersionsResponse())


def test_a_response_cut_in_its_header_is_a_bad_frame():
    with pytest.raises(BadFrame):
        kafka_codec.read_response(12, 4, memoryview(b"\0\0\0\x09"))


@pytest.mark.parametrize(
    ("value", "bytes_"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), ((1 << 32) - 1, "ffffffff0f")]
)
def test_a_varint_is_seven_bits_a_byte_lowest_first(value, bytes_):
    data = bytes.fromhex(bytes_)
    assert uvarint(value) == data
    if len(data) > 1:
        assert long_length(memoryview(data), 1, data[0]) == (value, len(data))


def test_the_table_of_apis_is_the_one_that_is_promised():
    spoken = {api.name: (api.key, api.version_min, api.version_max) for api in API_VERSIONS.values()}
    promised = {
        "Produce": (0, 3, 13), "Fetch": (1, 4, 17), "ListOffsets": (2, 1, 10), "Metadata": (3, 0, 13),
        "ApiVersions": (18, 0, 4), "FindCoordinator": (10, 0, 6), "InitProducerId": (22, 0, 5),
        "AddPartitionsToTxn": (24, 0, 5), "EndTxn": (26, 0, 5), "DescribeAcls": (29, 1, 3), "CreateAcls": (30, 1, 3),
    }  # fmt: skip
    assert {name: spoken[name] for name in promised} == promised
    assert len(spoken) == 47


def test_a_newer_member_s_subscription_is_read_as_far_as_we_know_it():
    message = consumer_protocol_subscription.ConsumerProtocolSubscription(["orders"], b"data", [], 3, "rack")
    for version in range(4):
        assert read_subscription(subscription(version, message)).topics == ["orders"]
    newer = b"\x00\x63" + subscription(3, message)[2:] + b"what version 99 adds"
    assert read_subscription(newer) == message


def test_an_assignment_survives_the_way():
    topic = consumer_protocol_assignment.TopicPartition("orders", [0, 2])
    message = consumer_protocol_assignment.ConsumerProtocolAssignment([topic], None)
    assert read_assignment(assignment(0, message)) == message


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0", b"\0\0\x7f\xff\xff\xff"])
def test_bytes_that_are_no_subscription_are_a_bad_frame(data):
    with pytest.raises(BadFrame):
        read_subscription(data)
