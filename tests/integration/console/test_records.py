"""Records on a topic's page: newest first, search, and a note on what was not searched."""

from __future__ import annotations

import re

import pytest

from redis_ledger.app.console.records import KEY_CHARACTERS, PARTITIONS_MAX, VALUE_CHARACTERS
from redis_ledger.broker.types import NewRecord

TOPIC = "/topic.json?name=orders"


async def produce(broker, *values: bytes | None, partition: int = 0) -> None:
    await broker.records.produce("orders", [NewRecord(None, each, partition=partition) for each in values])


async def test_a_text_is_found_far_behind_the_newest_records(broker, browser):
    await broker.topics.create("orders", 1)
    await produce(broker, b"the gondola", *(b"%d" % n for n in range(700)))
    found = (await browser.get(f"{TOPIC}&find=gondola")).json()
    assert [(each["offset"], each["value"]) for each in found["rows"]] == [(0, "the gondola")]
    assert found["ranges"] == [{"partition": 0, "first": 0, "end": 701, "there_first": 0, "there_end": 701}]
    assert found["note"] == ""


async def test_a_filter_says_what_it_has_not_looked_at(broker, browser):
    await broker.topics.create("orders", 1)
    for number in range(60):
        await produce(broker, b"%d " % number + b"x" * 60_000)
    found = (await browser.get(f"{TOPIC}&find=nothing")).json()
    [looked] = found["ranges"]
    assert 10 < looked["first"] < looked["end"] == 60
    assert found["note"] == (
        f"Searched {60 - looked['first']} of 60 records, the newest. "
        "Select a partition and an offset to search older records."
    )
    assert "No matching records." in (await browser.get("/topic?name=orders&find=nothing")).text
    early = (await browser.get(f"{TOPIC}&find=nothing&partition=0&offset=0")).json()
    assert early["next_offset"] == early["ranges"][0]["end"] < 60
    assert re.fullmatch(r"Searched \d+ of 60 records, from the offset on.", early["note"])


async def test_the_newest_of_large_records_are_shown(broker, browser):
    await broker.topics.create("orders", 1)
    for number in range(60):
        await produce(broker, b"%d " % number + b"x" * 100_000)
    rows = (await browser.get(TOPIC)).json()["rows"]
    assert [each["offset"] for each in rows[:3]] == [59, 58, 57]
    assert rows[0]["is_cut"]
    assert len(rows[0]["value"]) == VALUE_CHARACTERS


async def test_pages_lead_to_the_end(broker, browser):
    await broker.topics.create("orders", 1)
    await produce(broker, *(b"%d" % n for n in range(120)))
    seen, offset = [], 0
    while offset is not None:
        page = (await browser.get(f"{TOPIC}&offset={offset}")).json()
        seen += [each["offset"] for each in page["rows"]]
        offset = page["next_offset"]
    assert seen == list(range(120))
    assert "Continue at offset 50" in (await browser.get("/topic?name=orders&offset=0")).text


async def test_an_offset_that_some_partitions_have_is_shown_of_those(broker, browser):
    await broker.topics.create("orders", 3)
    await produce(broker, *(b"%d" % n for n in range(9)), partition=1)
    page = (await browser.get(f"{TOPIC}&offset=5")).json()
    assert [(each["partition"], each["offset"]) for each in page["rows"]] == [(1, 5), (1, 6), (1, 7), (1, 8)]
    none = (await browser.get(f"{TOPIC}&offset=50")).json()
    assert (none["rows"], none["ranges"]) == ([], [])
    assert "50" in none["note"]


async def test_a_topic_of_many_partitions_says_which_are_shown(broker, browser):
    await broker.topics.create("orders", PARTITIONS_MAX + 4)
    await produce(broker, b"here", partition=PARTITIONS_MAX + 1)
    page = (await browser.get(TOPIC)).json()
    assert (page["rows"], page["note"]) == ([], "First 16 of 20 partitions; select a partition to see the others.")
    [row] = (await browser.get(f"{TOPIC}&partition={PARTITIONS_MAX + 1}")).json()["rows"]
    assert row["value"] == "here"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        (None, None, (None, None)),
        (b"", b"", ("", "")),
        (b"\xff", b"\x00\xff", ("0xff", "0x00ff")),
        (b"k" * 600, b"v", ("k" * KEY_CHARACTERS + "…", "v")),
    ],
)
async def test_empty_and_absent_values_are_distinguished(broker, browser, key, value, shown):
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", [NewRecord(key, value, [("h" * 600, b"w" * 600)])])
    [row] = (await browser.get(TOPIC)).json()["rows"]
    assert (row["key"], row["value"]) == shown
    assert row["headers"] == [["h" * KEY_CHARACTERS + "…", "w" * KEY_CHARACTERS + "…"]]
    page = (await browser.get("/topic?name=orders")).text
    assert page.count('<span class="note">none</span>') == 2 * (value is None)
    assert page.count('<span class="note">empty</span>') == 2 * (value == b"")


async def test_bidirectional_controls_are_visible(broker, browser):
    await broker.topics.create("orders", 1)
    await broker.records.produce("orders", [NewRecord("\u202egnp.exe".encode(), b"a\x00b\x1b[31m\n\tc")])
    page = (await browser.get("/topic?name=orders")).text
    assert "\\u202egnp.exe" in page
    assert "a\\x00b\\x1b[31m\n\tc" in page


async def test_a_topic_names_three_of_the_transactions_that_its_readers_wait_for(broker, browser):
    await broker.topics.create("orders", 5)
    for number in range(5):
        for _ in range(2):  # the second waits behind the first
            txn = (await broker.transactions.begin()).id
            record = NewRecord(None, b"x", partition=number)
            await broker.records.produce("orders", [record], transaction=txn)
    holding = (await browser.get(TOPIC)).json()["holding"]
    assert [(each["partition"], each["first_offset"]) for each in holding] == [(n, 0) for n in range(5)]
    page = (await browser.get("/topic?name=orders")).text
    warning = re.search(r"read_committed consumers are blocked by(.*?)</p>", page, re.S)
    assert warning is not None
    assert warning[1].count('class="mono"') == 3
    assert "and 2 more transactions" in warning[1]


@pytest.mark.parametrize(
    ("address", "part"), [("/topic?name=orders", "tail"), ("/topic?name=orders&offset=0", "tail"), ("/brokers", "live")]
)
async def test_changing_parts_are_refreshed(broker, browser, address, part):
    """Of a topic the records with what stands above them."""
    await broker.topics.create("orders", 1)
    page = (await browser.get(address)).text
    [tag] = re.findall(rf'<div id="{part}"[^>]*>', page)
    assert f'hx-get="/console{address.partition("&")[0]}' in tag
    assert "every" in tag
    assert ("offset=0" in tag) == ("offset" in address)
    assert ('hx-select-oob="#live"' in tag) == (part == "tail")
    assert page.count('id="live"') == 1
