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
