"""Messages as real clients sent them, as we write them, and as an attacker would."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from redis_ledger.kafka.protocol import frame
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.fetch_response import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.produce_response import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from redis_ledger.kafka.protocol.primitives import ELEMENTS_MAX, BadFrame, uvarint
from redis_ledger.kafka.protocol.registry import decode_request, encode_response
from tests.support import kafka_codec
from tests.support.kafka_codec import decode_response
from tests.support.traced_memory import peak_bytes

# Requests that the named clients sent in transactions, fetches and group heartbeats, without their length.
CAPTURED = json.loads((Path(__file__).parent / "frames.json").read_text())
KEYS = {api.name: api.key for api in API_VERSIONS.values()}
TOPIC_ID = bytes(range(16))
ids = [f"{one['api']} {one['version']} of {one['client']}" for one in CAPTURED]


def captured(client: str, api: str, version: int) -> memoryview:
    found = [one for one in CAPTURED if (one["client"], one["api"], one["version"]) == (client, api, version)]
    return memoryview(bytes.fromhex(found[0]["hex"]))


def read(data: memoryview):
    return frame.read_request(data, frame.read_header(data))


@pytest.mark.parametrize("one", CAPTURED, ids=ids)
def test_a_client_s_request_is_read_and_written_again_byte_for_byte(one):
    # Given a request as the client sent it
    data = memoryview(bytes.fromhex(one["hex"]))
    # When it is read
    header = frame.read_header(data)
    request = frame.read_request(data, header)
    # Then it is the one it says it is, and we would send the very same bytes
    assert (API_VERSIONS[header.api_key].name, header.version) == (one["api"], one["version"])
    again = kafka_codec.request(header.api_key, header.version, header.correlation_id, header.client_id, request)
    assert b"".join(again)[4:] == data


def test_a_produce_request_of_librdkafka_says_what_librdkafka_meant():
    request = read(captured("librdkafka 2.16", "Produce", 10))
    assert request == ProduceRequest(
        transactional_id="tx-1",
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(name="orders", partition_data=[PartitionProduceData(0, request_records(request))])
        ],
    )
    assert len(request_records(request)) == 78


def request_records(request: ProduceRequest) -> memoryview:
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    return records


def test_records_are_a_slice_of_the_frame():
    # Given a request in memory that can be changed
    data = bytearray(captured("kafka-clients 4.4", "Produce", 13))
    # When it is read, and the last byte of its records changes in the frame
    records = request_records(read(memoryview(data)))
    before = records[-1]
    data[-4] ^= 0xFF
    # Then it has changed in the message as well
    assert records[-1] == before ^ 0xFF


def test_a_fetch_request_of_the_java_client_says_what_it_meant():
    partition = FetchPartition(0, 0, 0, -1, -1, 1 << 20)
    assert read(captured("kafka-clients 4.4", "Fetch", 17)) == FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50 << 20,
        session_epoch=0,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )


def test_topics_may_be_null_from_version_1_of_metadata_on():
    assert decode_request(3, 0)(memoryview(bytes(4)), 0) == MetadataRequest(topics=[])
    assert decode_request(3, 1)(memoryview(b"\xff" * 4), 0) == MetadataRequest(topics=None)
    with pytest.raises(BadFrame, match="topics: length -1 with 0 bytes left"):
        decode_request(3, 0)(memoryview(b"\xff" * 4), 0)


def written(api: str, version: int, message: object) -> str:
    [data] = frame.response(KEYS[api], version, 7, message)
    return bytes(data).hex(" ")


def test_the_response_to_apiversions_is_what_the_protocol_guide_says():
    answer = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4)], supported_features=[SupportedFeatureKey("a", 0, 2)])
    # Version 0 is fixed for all time; version 3 is flexible inside, while its header stays as it was.
    assert written("ApiVersions", 0, answer) == "00 00 00 10 00 00 00 07 00 00 00 00 00 01 00 12 00 00 00 04"
    assert written("ApiVersions", 3, answer) == (
        "00 00 00 1d 00 00 00 07 00 00 02 00 12 00 00 00 04 00 00 00 00 00 01 00 08 02 02 61 00 00 00 02 00"
    )


def test_the_response_to_produce_is_what_the_protocol_guide_says():
    partition = PartitionProduceResponse(index=1, base_offset=258)
    answer = ProduceResponse([TopicProduceResponse(name="t", partition_responses=[partition])])
    start = "00 00 00 01 00 00 00 00 00 00 00 00 01 02 ff ff ff ff ff ff ff ff"
    classic = "00 00 00 29 00 00 00 07 00 00 00 01 00 01 74 00 00 00 01 " + start + " 00 00 00 00"
    assert written("Produce", 3, answer) == classic
    flexible = "00 00 00 30 00 00 00 07 00 02 02 74 02 " + start + " ff ff ff ff ff ff ff ff 01 00 00 00 00 00 00 00 00"
    assert written("Produce", 9, answer) == flexible
    # From version 10 on a leader is sent as tagged field 0 of 9 bytes.
    partition.current_leader = LeaderIdAndEpoch(2, 5)
    assert written("Produce", 9, answer) == flexible
    assert "01 00 01 00 09 00 00 00 02 00 00 00 05 00 00" in written("Produce", 10, answer)


@pytest.mark.parametrize("version", [4, 12, 17])
def test_fetched_records_are_sent_from_where_they_lie(version):
    # Given a partition with two batches that are large and one that is small
    batches = [bytes(10_000), b"r" * 61, bytes(5_000)]
    partition = PartitionData(3, 0, 9, 9, 0, aborted_transactions=[AbortedTransaction(7, 1)], records=batches)
    answer = FetchResponse(responses=[FetchableTopicResponse("t", TOPIC_ID, [partition])])
    # When the answer is written
    chunks = frame.response(1, version, 7, answer)
    # Then the large ones are chunks of their own, not copies
    lying = [at for at, chunk in enumerate(chunks) if chunk is batches[0] or chunk is batches[2]]
    assert lying == [1, 3]
    # And a client finds all three in a row
    joined = b"".join(chunks)
    assert int.from_bytes(joined[:4], "big") == len(joined) - 4
    correlation_id, seen = kafka_codec.read_response(1, version, memoryview(joined)[4:])
    assert correlation_id == 7
    assert seen.responses[0].partitions[0].records == b"".join(batches)
    assert seen.responses[0].partitions[0].aborted_transactions == [AbortedTransaction(7, 1)]


@pytest.mark.parametrize("api", API_VERSIONS.values(), ids=lambda api: api.name)
def test_every_version_of_an_api_can_be_read_and_written(api):
    for version in range(api.version_min, api.version_max + 1):
        assert callable(decode_request(api.key, version))
        assert callable(encode_response(api.key, version))
    with pytest.raises(KeyError):
        decode_request(api.key, api.version_max + 1)


# -- hostile frames ----------------------------------------------------------------------------------------------------

HUGE = [
    ("an array", b"\x7f\xff\xff\xff"),
    ("a negative array", b"\x80\x00\x00\x00"),
    ("a long varint", b"\xff\xff\xff\xff\x07"),
    ("a varint of 35 bits", b"\xff\xff\xff\xff\x7f"),
    ("an endless varint", b"\xff" * 9),
]


MOST_BYTES = 64 * 1024  # that reading a malicious request may take


def refuse(data: bytes, complaint: str) -> None:
    """Reads a malicious request; asserts that this costs next to nothing."""
    with pytest.raises(BadFrame):
        read(memoryview(data))  # the first of its kind loads its module

    def act() -> None:
        with pytest.raises(BadFrame, match=complaint):
            read(memoryview(data))

    began = time.thread_time()
    assert peak_bytes(act, MOST_BYTES) < MOST_BYTES
    assert time.thread_time() - began < 1


def test_twelve_bytes_with_a_huge_array_are_refused_before_anything_is_made():
    # DescribeGroups 0, correlation id 1, no client id, and 2^31 - 1 groups of which two bytes have arrived
    refuse(bytes.fromhex("000f 0000 00000001 ffff 7fff"), "requires a buffer of at least 14 bytes")
    # The same with the count complete: Metadata 1 with 2^31 - 1 topics
    refuse(bytes.fromhex("0003 0001 00000001 ffff 7fffffff"), "topics: length 2147483647 with 0 bytes left")
    # And as varint: Metadata 9
    refuse(bytes.fromhex("0003 0009 00000001 ffff 00 ffffffff07"), "topics: length 2147483646 with 0 bytes left")


@pytest.mark.parametrize("what", [name for name, _ in HUGE])
@pytest.mark.parametrize("one", CAPTURED, ids=ids)
def test_a_huge_length_anywhere_is_refused_or_means_something_else(one, what):
    plain, huge = bytes.fromhex(one["hex"]), dict(HUGE)[what]
    read(memoryview(plain))  # the first of its kind loads its module
    refused = 0

    def act(data: bytes) -> None:
        nonlocal refused
        try:
            read(memoryview(data))
        except BadFrame:
            refused += 1

    for at in range(8, len(plain)):
        for data in (plain[:at] + huge + plain[at + len(huge) :], plain[:at] + huge + plain[at:]):
            assert peak_bytes(partial(act, data), MOST_BYTES) < MOST_BYTES
    assert refused > 0


@pytest.mark.parametrize("one", CAPTURED, ids=ids)
def test_a_request_cut_short_anywhere_is_bad_and_bytes_behind_it_are_passed_over(one):
    plain = bytes.fromhex(one["hex"])
    for end in range(len(plain)):
        with pytest.raises(BadFrame):
            read(memoryview(plain[:end]))
    assert read(memoryview(plain + b"\0\1\2")) == read(memoryview(plain))


def test_a_large_frame_full_of_tiny_elements_is_refused_at_its_count():
    count = ELEMENTS_MAX + 1
    groups = uvarint(count + 1) + b"\x01" * count + b"\0\0"
    with pytest.raises(BadFrame, match="more than 131072 elements"):
        decode_request(KEYS["DescribeGroups"], 5)(memoryview(groups), 0)
    # Also when they are spread: half of them topics, each with a partition
    topic, half = b"\x02t\x02" + bytes(13) + b"\0", ELEMENTS_MAX // 2
    allowed = uvarint(half + 1) + topic * half + bytes(5)
    assert len(decode_request(KEYS["DeleteRecords"], 2)(memoryview(allowed), 0).topics) == half
    with pytest.raises(BadFrame, match="more than"):
        decode_request(KEYS["DeleteRecords"], 2)(memoryview(uvarint(half + 2) + topic * (half + 1) + bytes(5)), 0)
    # And tagged fields count as well
    tags = uvarint(count) + b"".join(uvarint(tag) + b"\0" for tag in range(count))
    with pytest.raises(BadFrame, match="more than"):
        decode_request(KEYS["ListTransactions"], 0)(memoryview(b"\x01\x01" + tags), 0)


def test_text_that_is_not_utf_8_is_a_bad_frame():
    with pytest.raises(BadFrame, match="utf-8"):
        decode_request(KEYS["SaslHandshake"], 0)(memoryview(b"\x00\x02\xc3\x28"), 0)


def test_a_string_longer_than_kafka_allows_is_a_bad_frame():
    groups = b"\x02" + uvarint(0x8000 + 1) + bytes(0x8000) + b"\0\0"
    with pytest.raises(BadFrame, match="string: length 32768"):
        decode_request(KEYS["DescribeGroups"], 5)(memoryview(groups), 0)


def heartbeat_with(tags: bytes) -> memoryview:
    return memoryview(b"\x02g" + bytes(4) + b"\x02m\x00" + tags)


def test_unknown_tagged_fields_are_passed_over():
    plain = decode_request(KEYS["Heartbeat"], 4)(heartbeat_with(b"\0"), 0)
    tagged = decode_request(KEYS["Heartbeat"], 4)(heartbeat_with(b"\x02\x05\x03abc" + uvarint(9000) + b"\0"), 0)
    assert tagged == plain


@pytest.mark.parametrize(
    ("tags", "complaint"),
    [
        (b"\x01\x05\x04abc", "tagged field 5: length 4 with 3 bytes left"),
        (b"\x02\x05\x00\x05\x00", "tagged field 5 comes after 5"),
        (b"\x02\x05\x00\x04\x00", "tagged field 4 comes after 5"),
        (b"\x02\x05\x00", "index out of bounds"),
        (b"\x81\x80\x80\x80\x80\x01\x05\x00", "a varint does not end"),
    ],
)
def test_tagged_fields_that_do_not_add_up_are_bad_frames(tags, complaint):
    with pytest.raises(BadFrame, match=complaint):
        decode_request(KEYS["Heartbeat"], 4)(heartbeat_with(tags), 0)


def test_a_known_tagged_field_must_have_the_size_it_claims():
    good = b"\0\0\x01" + bytes(4) + b"\x01\x01\x08" + bytes(7) + b"\x05"
    assert decode_response(KEYS["ApiVersions"], 3)(memoryview(good), 0).finalized_features_epoch == 5
    for size in (7, 9):
        bad = good.replace(b"\x01\x01\x08", bytes([1, 1, size])) + bytes(size - 8 if size > 8 else 0)
        with pytest.raises(BadFrame, match="tagged field 1 does not have the declared size"):
            decode_response(KEYS["ApiVersions"], 3)(memoryview(bad), 0)


def test_the_codec_of_an_api_is_loaded_when_it_is_first_used():
    probe = (
        "import sys; from redis_ledger.kafka.protocol import frame;"
        "loaded = lambda: sorted(m.rpartition('.')[2] for m in sys.modules if '.protocol.messages.' in m);"
        "before = loaded(); frame.registry.decode_request(12, 0); print(before, loaded())"
    )
    root = Path(__file__).resolve().parents[3]
    seen = subprocess.run([sys.executable, "-c", probe], cwd=root, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[] ['heartbeat_request']"
