from __future__ import annotations

import msgspec
import pytest

from redis_ledger.client.bodies import MessagesBody, RecordBody, body_of, message_of
from redis_ledger.client.models import Message, Record
from redis_ledger.client.values import header_pairs, ids_of, value_bytes
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import MessageId


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (b"\xff", b"\xff"),
        (bytearray(b"x"), b"x"),
        ("grüß", "grüß".encode()),
        ({"a": [1, 2.5, None]}, b'{"a":[1,2.5,null]}'),
        (7, b"7"),
        (True, b"true"),
        ([], b"[]"),
        (None, None),
    ],
)
def test_a_value_is_stored_as_bytes_text_or_json(value, stored):
    assert value_bytes(value) == stored


def test_a_value_without_a_json_form_is_refused_before_anything_is_sent():
    with pytest.raises(InvalidRequest):
        value_bytes(object())


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"value": {"a":  1}}', b'{"a":  1}'),
        (b'{"value": null}', None),
        (b"{}", None),
        (b'{"text": "null"}', b"null"),
        (b'{"text": ""}', b""),
        (b'{"base64": "/w=="}', b"\xff"),
    ],
)
def test_a_value_comes_back_as_the_bytes_that_were_stored(body, value):
    record = msgspec.json.decode(
        b'{"offset": 1, ' + body[1:].lstrip() if body != b"{}" else b'{"offset": 1}', type=RecordBody
    )
    assert message_of(record, "orders").value == value


@pytest.mark.parametrize(
    "record",
    [
        Record(b"\xff\x00", key=b"\xfe", headers={"h": b"\xff", "n": None, "t": "text"}),
        Record({"a": 1}, key="k", timestamp_ms=5),
        Record(None),
        Record("null"),
    ],
)
def test_a_record_survives_the_way_into_json_and_back(record):
    body = {"offset": 3, **body_of(record)}
    message = message_of(msgspec.json.decode(msgspec.json.encode(body), type=RecordBody), "orders")
    assert message.value == value_bytes(record.value)
    assert message.key == (record.key.encode() if isinstance(record.key, str) else record.key)
    assert message.headers == dict(header_pairs(record.headers))


def test_a_delivered_message_reads_as_json_and_as_text():
    body = (
        b'{"messages":[{"id":"2:17","partition":2,"offset":17,"redelivery_count":1,"timestamp_ms":5,"value":{"n":1}}]}'
    )
    [found] = msgspec.json.decode(body, type=MessagesBody).messages
    message = message_of(found, "orders")
    assert message.id == MessageId(2, 17)
    assert message.json() == {"n": 1}
    assert message.text() == '{"n":1}'
    assert message.redelivery_count == 1


def test_ids_are_taken_from_messages_ids_and_texts_alike():
    message = Message("orders", 0, 4, None, None, {}, 1)
    assert ids_of(message) == [(0, 4)]
    assert ids_of("0:5") == [(0, 5)]
    assert ids_of(MessageId(1, 6)) == [(1, 6)]
    assert ids_of([message, "0:5", MessageId(1, 6), (2, 7)]) == [(0, 4), (0, 5), (1, 6), (2, 7)]
