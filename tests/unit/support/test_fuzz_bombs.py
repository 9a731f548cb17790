"""The fuzzer's bombs are small frames that claim large sizes."""

from __future__ import annotations

import json
import time
from random import Random

import pytest

from redis_ledger.errors import TooLargeToDecode
from redis_ledger.records.batch import check, read_header
from redis_ledger.records.budget import Limits
from redis_ledger.records.compression import unpack
from redis_ledger.records.read import decode
from tests.fuzz import bombs, corpus
from tests.fuzz.batches import plain
from tests.fuzz.findings import Findings
from tests.fuzz.rest import REQUESTS, Rest
from tests.fuzz.words import Words
from tests.support.bombs import CODECS, NO_HEADER, header_bomb

ROOM = Limits(bombs.BEYOND_BYTES * 2, bombs.HEADERS * 2, bombs.HEADERS * 2)


@pytest.fixture(scope="module")
def batches():
    return {bomb.name: bomb.data for bomb in bombs.batches()}


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_that_unpacks_to_much_is_small_and_sound(batches, codec):
    for kind, size in (("within", bombs.WITHIN_BYTES), ("beyond", bombs.BEYOND_BYTES)):
        data = batches[f"{kind} {codec}"]
        check(read_header(data), memoryview(data), batch_bytes_max=len(data))
        assert len(data) < size / 20
        (record,) = decode(data, ROOM)
        assert record.value == bytes(size)
    decode(batches[f"within {codec}"])
    with pytest.raises(TooLargeToDecode, match="batch_decoded_bytes_max"):
        decode(batches[f"beyond {codec}"])


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_of_very_many_headers_is_small_and_sound(batches, codec):
    data = batches[f"headers {codec}"]
    check(read_header(data), memoryview(data), batch_bytes_max=len(data))
    assert len(data) < bombs.HEADERS / 10
    with pytest.raises(TooLargeToDecode, match="record_headers_max"):
        decode(data)
    # As many headers as the record says, and nothing behind them
    body = unpack(read_header(data).compression, memoryview(data)[61:], ROOM.decoded_bytes)
    assert body.endswith(NO_HEADER * bombs.HEADERS)
    (few,) = decode(header_bomb(3, CODECS.index(codec) + 1))
    assert few.headers == [("", None)] * 3


def test_a_request_that_names_one_thing_very_often_is_read_as_that():
    found = {bomb.name: corpus.read(bomb.data) for bomb in bombs.repeated(Words(), 1)}
    # Every API that has a list in its request is there
    with_lists = {
        corpus.served()[key, version]
        for key, version in corpus.served()
        if any(field.is_array and version in field.versions for field in corpus.requests()[key].root.fields)
    }
    assert {*found} <= with_lists
    assert {"Metadata", "Produce", "Fetch", "OffsetCommit", "TxnOffsetCommit", "DeleteGroups"} <= {*found}
    commit = found["OffsetCommit"]
    assert len(commit.topics) == bombs.REPEATED
    assert all(topic == commit.topics[0] for topic in commit.topics)
    assert len(commit.topics[0].partitions) == bombs.REPEATED_INSIDE
    assert len(found["DeleteGroups"].groups_names) == bombs.REPEATED


def test_bodies_for_rest_are_as_deep_and_as_long_as_they_say():
    texts = {bomb.name: bomb.data for bomb in bombs.texts()}
    for name in ("deep lists", "a value of deep lists", "records of deep lists"):
        assert texts[name].count(b"[" * bombs.DEEP) == texts[name].count(b"]" * bombs.DEEP) == 1
    assert texts["deep objects"].count(b"{") == texts["deep objects"].count(b"}") == bombs.DEEP
    assert len(json.loads(texts["200 000 records"])["records"]) == 200_000
    assert len(json.loads(texts["200 000 ids"])["ids"]) == 200_000
    assert texts["200 000 headers"].count(b'"h":"v"') == 200_000
    assert max(len(data) for data in texts.values()) < 8 << 20


def test_a_batch_is_the_same_for_the_same_seed_at_any_time(monkeypatch):
    made = []
    for now_s in (1_700_000_000.0, 1_800_000_000.0):
        monkeypatch.setattr(time, "time", lambda now_s=now_s: now_s)
        made.append([plain(Random(seed)) for seed in range(50)])
    assert made[0] == made[1]
    assert {read_header(batch).compression for batch in made[0]} == {0, 1, 2, 3, 4}


def test_a_request_to_rest_is_the_same_for_the_same_seed_and_number():
    texts, batches = list(bombs.texts()), [bombs.Bomb("batch", b"batch")]
    first, second = (Rest(("", 0), Findings(1), 1, texts, batches) for _ in range(2))
    made = [first.request(number) for number in range(300)]
    assert made == [second.request(number) for number in range(300)]
    # Bombs and batches are among them, and bodies that mean something
    assert {bomb.name for bomb in (*texts[:15], *batches)} <= {each.name for each in made}
    assert {path for path, _ in REQUESTS} <= {each.path for each in made}
