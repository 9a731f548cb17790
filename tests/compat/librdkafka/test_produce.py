# mypy: disable-error-code="import-not-found"
"""Records of librdkafka producers arrive once and in order, compressed or not."""

from __future__ import annotations

import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_with_every_kind_of_acknowledgement(acks, topic, producer, send, everything, eventually):
    called = topic()
    values = [b"%d" % number for number in range(100)]
    acknowledged = send(producer(acks=acks), called, values)
    assert len(acknowledged) == 100
    if acks != "0":
        assert [message.offset() for message in acknowledged] == list(range(100))
    eventually(lambda: everything(called) == values)


def test_an_idempotent_producer_keeps_the_order_of_each_partition(topic, producer, send, everything):
    called = topic(3)
    idempotent = producer(enable_idempotence=True, linger_ms=0, batch_num_messages=7)
    values = [b"%d" % number for number in range(3000)]
    acknowledged = send(idempotent, called, values)
    offsets = defaultdict(list)
    for message in acknowledged:
        offsets[message.partition()].append(message.offset())
    assert all(found == list(range(len(found))) for found in offsets.values())
    read = [everything(called, partition) for partition in range(3)]
    assert sorted((value for part in read for value in part), key=int) == values
    assert all(part == sorted(part, key=int) for part in read)


def test_an_idempotent_producer_goes_on_in_a_topic_that_was_created_again(topic, admin, producer, send, everything):
    called = topic()
    idempotent = producer(enable_idempotence=True)
    send(idempotent, called, [b"0", b"1", b"2"])
    admin.delete_topics([called])[called].result(15)
    admin.create_topics([NewTopic(called, 1, 1)])[called].result(15)
    assert [message.offset() for message in send(idempotent, called, [b"3", b"4"])] == [0, 1]
    assert everything(called) == [b"3", b"4"]


def test_producers_side_by_side_get_offsets_of_their_own(topic, producer, send, everything):
    called = topic()

    def work(number):
        values = [b"%d-%d" % (number, count) for count in range(300)]
        return [message.offset() for message in send(producer(linger_ms=0), called, values)]

    with ThreadPoolExecutor(4) as pool:
        offsets = [offset for found in pool.map(work, range(4)) for offset in found]
    assert sorted(offsets) == list(range(1200))
    assert len(set(everything(called))) == 1200


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_compressed_batch_is_sent_compressed_and_read_whole(codec, topic, producer, send, everything):
    """librdkafka sends uncompressed, with no more than a line in its log, when a broker seems too old for a codec."""
    called = topic()
    values = [bytes([65 + number % 26]) * 1000 for number in range(200)]
    statistics = []
    one = producer(
        compression_type=codec,
        linger_ms=50,
        statistics_interval_ms=50,
        stats_cb=lambda text: statistics.append(json.loads(text)),
    )
    send(one, called, values)
    one.poll(0.3)
    assert everything(called) == values
    sent = max(sum(broker["txbytes"] for broker in each["brokers"].values()) for each in statistics)
    assert (sent < 100_000) is (codec != "none"), f"{sent} bytes were sent for 200 000 of payload"


def test_key_value_headers_and_time_come_back_as_they_were_sent(topic, producer, consumer, read):
    called = topic()
    one = producer()
    headers = [("trace", b"\x00\xff"), ("again", b"1"), ("again", b"2"), ("none", None)]
    one.produce(called, b"v", b"k", headers=headers, timestamp=1_700_000_000_123)
    one.produce(called, None, "ключ".encode())
    one.produce(called, b"", None)
    one.flush(10)
    first, second, third = read(consumer(called), 3)
    assert (first.key(), first.value(), first.headers()) == (b"k", b"v", headers)
    assert first.timestamp() == (1, 1_700_000_000_123)
    assert (second.key(), second.value()) == ("ключ".encode(), None)
    assert (third.key(), third.value()) == (None, b"")


def test_equal_keys_go_to_one_partition(topic, producer, send):
    called = topic(5)
    places = {send(producer(), called, [b"v"], key=b"k")[0].partition() for _ in range(5)}
    assert len(places) == 1


def test_a_produce_to_an_unknown_topic_creates_it(name, producer, send, everything):
    called = name("auto")
    acknowledged = send(producer(), called, [b"first"])
    assert acknowledged[0].offset() == 0
    assert everything(called) == [b"first"]


def test_a_batch_above_the_topics_limit_is_refused_and_a_smaller_one_is_not(topic, producer, send, everything):
    called = topic(1, **{"max.message.bytes": "20000"})
    one = producer()
    with pytest.raises(KafkaException) as refused:
        send(one, called, [b"x" * 50_000])
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    send(one, called, [b"x" * 10_000])
    assert everything(called) == [b"x" * 10_000]


def test_a_partition_that_does_not_exist_is_refused(topic, producer, send):
    one = producer(message_timeout_ms=3000)
    with pytest.raises(KafkaException) as refused:
        send(one, topic(2), [b"v"], partition=7)
    assert refused.value.args[0].code() == KafkaError._UNKNOWN_PARTITION


def test_records_of_a_megabyte_arrive(topic, producer, send, everything):
    called = topic()
    values = [bytes([number]) * 900_000 for number in range(8)]
    send(producer(linger_ms=0), called, values)
    assert everything(called) == values
