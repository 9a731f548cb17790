"""Any message is unchanged by the wire format in every version, and equal to kio's; any other bytes raise BadFrame."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from redis_ledger.kafka.protocol import frame
from redis_ledger.kafka.protocol.api import UnknownRequest
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.primitives import BadFrame
from redis_ledger.kafka.protocol.registry import decode_request
from tests.support import kafka_codec
from tests.support.examples import examples
from tests.support.kafka_message_strategies import (
    MESSAGES,
    as_kio_tells,
    class_of,
    cut,
    decoded,
    encoded,
    kio_class,
    to_plain,
    values,
)
from tests.support.traced_memory import peak_bytes

CAPTURED = [
    bytes.fromhex(one["hex"])
    for one in json.loads((Path(__file__).parents[1] / "unit" / "kafka" / "frames.json").read_text())
]
# One definition serves every message, each with its own values: Hypothesis finds that worth a warning.
few = settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
names = pytest.mark.parametrize("name", MESSAGES)

# kio 0.6.5 was made from Kafka 4.3, which did not have these.
NEWER_THAN_KIO = {
    ("TxnOffsetCommitRequest", 6),
    ("TxnOffsetCommitResponse", 6),
    ("DeleteGroupsRequest", 3),
    ("DeleteGroupsResponse", 3),
}


@names
def test_a_message_survives_every_version_that_can_carry_it(name):
    message = MESSAGES[name]

    @few
    @given(values(name))
    def check(value):
        for version in message.versions.all():
            # Given a value in which this version allows every null, when it is written and read
            data = encoded(message, version, cut(message, message.root, value, version, keep_absent=True))
            # Then what the version carries has arrived, and the rest says nothing
            assert decoded(message, version, data) == cut(message, message.root, value, version)

    check()


@names
def test_kio_reads_what_we_write_and_we_read_what_kio_writes(name):
    message = MESSAGES[name]
    classes = {version: kio_class(message, version) for version in message.versions.all()}
    assert {(name, version) for version, cls in classes.items() if cls is None} <= NEWER_THAN_KIO

    @settings(few, max_examples=examples(12))
    @given(values(name, plain=True))
    def check(value):
        for version, cls in classes.items():
            if cls is None:
                continue
            ours = cut(message, message.root, value, version)
            data = encoded(message, version, ours)
            theirs, size = entity_reader(cls)(data, 0)
            assert size == len(data)
            assert to_plain(theirs) == as_kio_tells(message, message.root, ours, version)
            back = io.BytesIO()
            entity_writer(cls)(back, theirs)
            assert decoded(message, version, back.getvalue()) == ours

    check()


@pytest.mark.parametrize("api", API_VERSIONS.values(), ids=lambda api: api.name)
def test_headers_have_the_versions_that_kio_says(api):
    asks, answers = MESSAGES[f"{api.name}Request"], MESSAGES[f"{api.name}Response"]
    for version in range(api.version_min, api.version_max + 1):
        asked, answered = kio_class(asks, version), kio_class(answers, version)
        if asked is None or answered is None:
            continue
        # Given a request that says nothing, kio and we agree on where its header ends
        sent = b"".join(kafka_codec.request(api.key, version, 7, "c", class_of(asks, asks.root)()))[4:]
        header, size = entity_reader(asked.__header_schema__)(sent, 0)
        assert (to_plain(header), size) == ([api.key, version, 7, "c"], frame.read_header(memoryview(sent)).body_at)
        # And on the answer's
        sent = b"".join(frame.response(api.key, version, 7, class_of(answers, answers.root)()))[4:]
        header, size = entity_reader(answered.__header_schema__)(sent, 0)
        _, body_size = entity_reader(answered)(sent, size)
        assert (to_plain(header), size + body_size) == ([7], len(sent))


# -- hostile bytes -----------------------------------------------------------------------------------------------------

edits = st.lists(
    st.tuples(
        st.sampled_from(["set", "insert", "delete"]),
        st.floats(0, 1, exclude_max=True),
        st.sampled_from(
            [
                b"\0",
                b"\x01",
                b"\x7f",
                b"\x80",
                b"\xff",
                b"\x7f\xff\xff\xff",
                b"\xff\xff\xff\xff",
                b"\xff\xff\xff\xff\x0f",
            ]
        )
        | st.binary(min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    out = bytearray(data)
    for kind, where, new in changes:
        at = int(where * len(out))
        if kind == "set":
            out[at : at + len(new)] = new
        elif kind == "insert":
            out[at:at] = new
        else:
            del out[at : at + len(new)]
    return bytes(out)


def check_harmless(data: bytes) -> None:
    """The frame is refused in one of the ways there are, or it means something that can be written again."""
    view = memoryview(data)
    try:
        header = frame.read_header(view)
        request = frame.read_request(view, header)
    except (BadFrame, UnknownRequest):
        return
    again = b"".join(
        kafka_codec.request(header.api_key, header.version, header.correlation_id, header.client_id, request)
    )
    assert frame.read_request(memoryview(again)[4:], frame.read_header(memoryview(again)[4:])) == request


@settings(max_examples=examples(1500))
@given(st.sampled_from(CAPTURED), edits)
def test_a_client_s_request_with_bytes_changed_is_harmless(data, changes):
    check_harmless(mutated(data, changes))


@settings(max_examples=examples(150))
@given(st.data(), edits)
def test_any_request_with_bytes_changed_is_harmless(data, changes):
    api = data.draw(st.sampled_from(list(API_VERSIONS.values())))
    version = data.draw(st.integers(api.version_min, api.version_max))
    message = MESSAGES[f"{api.name}Request"]
    value = cut(message, message.root, data.draw(values(message.name)), version)
    check_harmless(mutated(b"".join(kafka_codec.request(api.key, version, 1, None, value))[4:], changes))


@settings(max_examples=examples(100))
@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"\x01", b"\x02", b"\0", b"\xff", b"\0\0\0\x01"]), max_size=80).map(b"".join)
)
def test_no_bytes_make_a_decoder_fail_in_another_way_or_take_much_memory(data):
    versions = [(a.key, version) for a in API_VERSIONS.values() for version in range(a.version_min, a.version_max + 1)]
    decoders = [decode_request(*each) for each in versions]  # their modules are loaded now

    def act() -> None:
        for decode in decoders:
            try:
                decode(memoryview(data), 0)
            except BadFrame:
                continue

    most = 256 * 1024 + 400 * len(data)
    assert peak_bytes(act, most) < most
