"""One row for each difference between delayed records, their index and their ledgers; and the manifest of history."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.delay.entry import Bucket, Indexed
from redis_ledger.fsck.delay_check import check_buckets, check_delay
from redis_ledger.fsck.delay_facts import BucketFacts, DelayFacts
from redis_ledger.fsck.offload_check import check_manifest
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import PartitionKeys

PLACE = Place("t", "id", 0, PartitionKeys("rl", "t", 0))
STATE = {
    "ledger": "-1", "first": "-1", "open": "2", "records": "3", "entries": "2", "held": "0", "closing": "",
    "decided": "", "fired": "0", "cancelled": "0",
}  # fmt: skip
ROW = "2 0 0 -1 2 100 1"
LIVE = {b"0": bytes([0b0000_0110]) + bytes(511)}  # entries 1 and 2
ENTRIES = [Indexed(900, 1, -1, -1, 1, 50, 1), Indexed(901, 2, -1, -1, 2, 50, 1)]
BUCKET = Bucket(-1, -1, "ab", 2, 1, 5, 5, 900, 950, 10, 1)


def facts(state: dict[str, str] | None = None, **changed: Any) -> DelayFacts:
    entries = changed.pop("entries", ENTRIES)
    given: dict[str, Any] = {"ledgers": {b"-1": ROW.encode()}, "live": LIVE, "parts": {}, "moved": {}, "repeats": {}}
    fields = {name.encode(): value.encode() for name, value in {**STATE, **(state or {})}.items()}
    found = DelayFacts(fields, **{**given, **changed})
    found.add(entries)
    found.counts["open"] = len(entries)
    return found


def lost() -> DelayFacts:
    found = facts(live={b"0": bytes([0b0000_0010]) + bytes(511)})
    found.lost = [2]
    return found


def test_a_whole_index_has_no_difference():
    assert list(check_delay(PLACE, facts(), is_complete=True)) == []


@pytest.mark.parametrize(
    ("given", "kind", "item"),
    [
        (facts({"records": "9"}), "delay_state", "records"),
        (facts({"entries": "1"}), "delay_state", "entries"),
        (facts({"open": "1"}), "delay_state", "open"),
        (facts({"fired": "x"}), "delay_state", "fired"),
        (facts({"0-7": "O 1 1 1"}), "delay_held", "0-7"),
        (facts({"0-7/1": "900 000000000002 -1 2 50 1"}), "delay_held", "0-7"),
        (facts({"0-7/1": "900 000000000002 -1 2 50 1", "0-7": "C 1 1 2"}), "delay_held", "0-7"),
        (facts(ledgers={b"-1": b"2 0 0 -1 5 100 1"}), "delay_unlogged", "-1"),
        (facts({"ledger": "-2"}), "ledger_row", "-2"),
        (facts(entries=ENTRIES[:1]), "delay_index", "ledger -1"),
        (facts(live={b"0": b"\xff" * 512}), "delay_live", "beyond"),
        (facts(entries=[*ENTRIES, Indexed(905, 2, 1, -1, 2, 50, 1)]), "delay_state", "2"),
        (facts(entries=[*ENTRIES, Indexed(905, 2, 1, -1, 2, 50, 1)], parts={b"2": b"1m"}), "delay_state", "2.1"),
        (lost(), "delay_live", "lost"),
    ],
)
def test_a_difference_is_found_with_its_repair(given: DelayFacts, kind: str, item: str):
    found = {(each.kind, each.item): each for each in check_delay(PLACE, given, is_complete=True)}
    assert found[kind, item].repair is not None


def test_counts_are_not_compared_while_the_index_changes():
    assert list(check_delay(PLACE, facts({"records": "9"}), is_complete=False)) == []


def test_bits_that_are_lost_correct_no_count():
    kinds = [each.kind for each in check_delay(PLACE, lost(), is_complete=True)]
    assert kinds == ["delay_live"]


@pytest.mark.parametrize(
    ("bucket", "horizons", "snaps", "count"),
    [
        (BucketFacts(BUCKET, "", 900, 7), {b"000000000007 1-1": 900}, {b"ab"}, 0),
        (BucketFacts(BUCKET, "", 900, 7), {}, {b"ab"}, 1),
        (BucketFacts(BUCKET, "", 900, 7), {b"000000000007 1-1": 901}, {b"ab"}, 1),
        (BucketFacts(BUCKET, "", 900, 7), {b"000000000008 1-1": 900}, {b"ab"}, 1),
        (BucketFacts(BUCKET, "", 900, 7), {b"000000000007 1-1": 900}, {b"cd"}, 1),
        (BucketFacts(BUCKET, "it is missing."), {b"000000000007 1-1": 900}, {b"ab"}, 1),
        (BucketFacts(BUCKET, "", 900, 7), {b"000000000007 1-1": 900, b"000000000009 2-3": 999}, {b"ab"}, 1),
    ],
)
def test_buckets_are_listed_with_their_snapshots(
    bucket: BucketFacts, horizons: dict[bytes, int], snaps: set[bytes], count: int
):
    assert len(list(check_buckets(PLACE, [bucket], {}, horizons, snaps, 1_000))) == count


def segment(first: int, end: int) -> bytes:
    text = f'"first":{first},"end":{end},"file":"f","records":1,"bytes":1,"min_ms":1,"max_ms":1,"checksum":"0"'
    return f"{{{text}}}".encode()


def plan(first: int, end: int) -> bytes:
    return f'{{"id":"p","stretches":[{{"first":{first},"end":{end},"file":"f"}}]}}'.encode()


WHOLE = {b"0": segment(0, 10), b"10": segment(10, 20), b"version": b"2", b"plan": plan(20, 30)}


@pytest.mark.parametrize(
    ("rows", "cold", "kinds"),
    [
        (WHOLE, b"20", []),
        ({**WHOLE, b"10": segment(12, 20)}, b"20", ["offload_segment"]),
        ({**WHOLE, b"10": b"x"}, b"20", ["offload_segment", "offload_segment"]),
        (WHOLE, b"15", ["offload"]),
        ({**WHOLE, b"version": b"x"}, b"20", ["offload"]),
        ({**WHOLE, b"plan": b"x"}, b"20", ["offload"]),
        ({**WHOLE, b"plan": plan(15, 30)}, b"20", ["offload"]),
        ({**WHOLE, b"plan": plan(20, 90)}, b"20", ["offload"]),
    ],
)
def test_the_manifest_is_a_chain_up_to_the_offloaded_offset(rows: dict[bytes, bytes], cold: bytes, kinds: list[str]):
    state = {b"start": b"0", b"stable": b"40", b"cold": cold}
    assert [each.kind for each in check_manifest(PLACE, rows, state)] == kinds
