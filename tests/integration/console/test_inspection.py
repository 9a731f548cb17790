"""Transaction buffers, pending acknowledgements, single records and backlogs in the console."""

from __future__ import annotations

from redis_ledger.broker.types import NewRecord
from tests.support.console_browser import fill


async def test_a_transaction_buffer_shows_what_holds_it(broker, browser):
    """OB-04, OB-09: in the console."""
    txn = await fill(broker)
    aborted = (await broker.transactions.begin()).id
    await broker.records.produce("orders", [NewRecord(None, b"never", partition=0)], transaction=aborted)
    await broker.transactions.abort(aborted)
    page = (await browser.get("/buffer?topic=orders")).text
    assert str(txn) in page
    assert str(aborted.producer_id) in page
    found = (await browser.get("/buffer.json?topic=orders")).json()["buffer"]
    assert found["held_by"]["transaction"] == str(txn)
    assert (found["aborted_transactions"], len(found["aborted"])) == (1, 1)
    assert "/console/buffer?topic=orders&amp;partition=0" in (await browser.get("/topic?name=orders")).text


async def test_pending_acknowledgements_a_record_and_a_backlog_are_shown(broker, browser):
    """OB-05, OB-11, OB-13: in the console."""
    await fill(broker)
    [message, *_] = await broker.subscriptions.receive("orders", "billing/eu", "c")
    where = "topic=orders&name=billing/eu"
    assert "No open transaction has acknowledged anything" in (await browser.get(f"/pending?{where}")).text
    txn = (await broker.transactions.begin()).id
    await broker.subscriptions.ack("orders", "billing/eu", "c", [message.id], transaction=txn)
    page = (await browser.get(f"/pending?{where}&record={message.id}&partition={message.id.partition}")).text
    for said in (str(txn), "pending_ack", "records to acknowledge", "Analyze"):
        assert said in page
    found = (await browser.get(f"/pending.json?{where}&record={message.id}&partition=0")).json()
    assert (found["record"]["state"], found["record"]["transaction"]) == ("pending_ack", str(txn))
    assert found["backlog"]["complete"]
    assert "/console/pending?topic=orders" in (await browser.get(f"/subscription?{where}")).text


async def test_the_consumers_of_a_key_shared_subscription_are_shown(broker, browser):
    await broker.topics.create("t", 1)
    await broker.subscriptions.create("t", "s", "key_shared")
    for name in ("a", "b"):
        await broker.subscriptions.receive("t", "s", name)
    await broker.records.produce("t", [NewRecord(f"k{n}".encode(), b"v") for n in range(12)])
    got = await broker.subscriptions.receive("t", "s", "a")
    await broker.subscriptions.nack("t", "s", "a", [got[0].id], delay_ms=60_000)
    a, b = (await browser.get("/subscription.json?topic=t&name=s")).json()["consumers"]
    counted = {"slots": 128, "unacknowledged": len(got) - 1, "waiting": 1, "returned": 1}
    assert a == {"consumer": "a", **counted, "left_ms": a["left_ms"]}
    assert (b["slots"], b["unacknowledged"], b["waiting"], b["returned"]) == (128, 0, 12 - len(got), 0)
    assert a["left_ms"] > 0
    page = (await browser.get("/subscription?topic=t&name=s")).text
    for said in ("<h2>Consumers</h2>", "Each partition divides 256 slots", "waiting for a consumer"):
        assert said in page
    await broker.subscriptions.close_consumer("t", "s", "b")
    assert '<td class="n">closed</td>' in (await browser.get("/subscription?topic=t&name=s")).text


async def test_other_subscriptions_have_no_table_of_consumers(broker, browser):
    await fill(broker)
    page = (await browser.get("/subscription?topic=orders&name=billing/eu")).text
    assert "<h2>Consumers</h2>" not in page
