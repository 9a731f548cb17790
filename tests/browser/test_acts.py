"""What people do with the console, by mouse and keys."""

from __future__ import annotations

from datetime import UTC, datetime

from playwright.sync_api import expect

from redis_ledger.ids import TxnId

HELD_S = 6  # an open transaction of this age is shown


def test_why_is_my_consumer_stuck_is_three_clicks_from_the_overview(shop, look):
    broker = shop.broker

    def receive() -> list[bytes | None]:
        return [each.value for each in shop.do(broker.subscriptions.receive("orders", "billing", "till-1"))]

    assert receive() == []
    looker = look(shop)
    page = looker.go()
    told = page.locator(".health li", has_text="Consumers of orders are blocked")
    told.wait_for()
    assert "import-3" in told.inner_text()
    told.get_by_role("link").click()
    assert page.url.endswith(f"/transaction?id={shop.shop.stuck}")
    assert "Blocked consumers: billing, packing, reports" in page.locator("#live .health").inner_text()
    page.get_by_text("Abort the transaction").click()
    page.get_by_role("button", name=f"Abort {shop.shop.stuck}").click()
    page.get_by_text(f"Aborted transaction {shop.shop.stuck}").wait_for()
    assert len(receive()) == 14
    assert page.get_by_text("Abort the transaction").count() == 0
    assert looker.complaints == []
    looker.go()
    page.get_by_text("Consumers of orders are blocked").wait_for(state="detached")


def test_a_subscription_and_a_group_say_whom_they_wait_for(shop, look):
    page = look(shop).go("/groups")
    page.get_by_role("link", name="billing").click()
    page.get_by_text(f"Blocked by transaction {shop.shop.stuck} of import-3").wait_for()
    page.get_by_role("link", name="Show transaction").click()
    page.get_by_role("heading", name="Transaction").wait_for()
    page.go_back()
    page.goto(f"{shop.url}/group?name=reports")
    expect(
        page.get_by_text("The group has no members: 1 record not consumed. Later records are blocked by transaction")
    ).to_be_visible()
    expect(page.get_by_text(f"Later records are blocked by transaction {shop.shop.stuck}")).to_be_visible()


def test_a_record_is_produced_and_is_in_the_tail(shop, look):
    page = look(shop).go("/topic?name=invoices")
    page.get_by_text("Produce a record").click()
    page.get_by_role("textbox", name="Key").fill("49")
    page.get_by_label("Value").fill('{"bill": "<b>zwölf</b>"}')
    page.locator("details select[name=partition]").select_option("1")
    page.get_by_role("button", name="Produce").click()
    page.get_by_role("status").get_by_text("Produced a record to partition 1").wait_for()
    row = page.locator("#tail tr", has_text="zwölf")
    assert row.locator("td.value").inner_text() == '{"bill": "<b>zwölf</b>"}'
    page.reload()
    assert page.get_by_text("Produced a record").count() == 0, "said once"


def test_what_is_not_committed_is_shown_on_request_and_labelled(shop, look):
    page = look(shop).go("/topic?name=orders")
    states = page.locator("#tail .status")
    assert set(states.all_inner_texts()) == {"committed"}
    page.locator("form.filters select[name=show]").select_option("all")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**show=all**")
    assert set(states.all_inner_texts()) == {"committed", "aborted", "open", "held"}
    row = page.locator("#tail tr", has_text='"order": 900')
    assert row.locator(".status").inner_text() == "aborted"
    assert page.locator("#tail tr", has_text='"order": 902').locator(".status").inner_text() == "open"
    assert page.locator("#tail tr", has_text='"order": 902').get_by_role("link").inner_text() == str(shop.shop.stuck)


def test_what_is_scheduled_is_moved_to_a_local_time_and_cancelled(shop, look):
    broker = shop.broker
    page = look(shop, timezone="Asia/Kolkata").go("/scheduled?topic=mail")
    row = page.locator("tbody tr", has_text='"order": 7}')
    row.get_by_text("Reschedule or cancel").click()
    row.locator("input[name=at]").fill("2100-01-01T05:30:00")
    row.get_by_role("button", name="Reschedule").click()
    page.get_by_text("to 2100-01-01 00:00:00 UTC").wait_for()
    dues = [each.deliver_at_ms for each in shop.do(broker.delayed.list("mail", limit=100))[0]]
    assert max(dues) == int(datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1000)
    first = page.locator("tr", has_text="Reschedule or cancel").first
    id = first.locator("td.mono").first.inner_text()
    first.get_by_text("Reschedule or cancel").click()
    first.get_by_role("button", name="Cancel").click()
    page.get_by_text(f"Cancelled {id}").wait_for()
    assert id not in [str(each.id) for each in shop.do(broker.delayed.list("mail", limit=100))[0]]
    assert page.locator(".fact", has_text="scheduled").locator("b").inner_text() == "59"


def test_a_subscription_is_moved_to_its_beginning_and_to_a_time(shop, look):
    broker = shop.broker
    page = look(shop).go("/subscription?topic=orders&name=billing")
    card = page.locator("details", has_text="Reset position")
    card.locator("summary").click()
    card.get_by_role("button", name="Reset").click()
    page.get_by_text("Reset billing on orders to earliest").wait_for()
    stats = shop.do(broker.subscriptions.stats("orders", "billing"))
    assert sum(each.backlog for each in stats.cursors) == 121
    card.locator("summary").click()
    card.locator("select[name=to]").select_option("time")
    card.get_by_role("textbox", name="Time").fill("2099-01-01T01:00:00")
    card.get_by_role("button", name="Reset").click()
    page.get_by_text("Reset billing on orders to 2099-01-01 00:00:00 UTC").wait_for()
    stats = shop.do(broker.subscriptions.stats("orders", "billing"))
    assert sum(each.backlog for each in stats.cursors) == 0


def test_a_subscription_returns_to_a_snapshot(shop, look):
    def backlog() -> int:
        return sum(each.backlog for each in shop.do(shop.broker.subscriptions.stats("orders", "billing")).cursors)

    shop.do(shop.broker.cursors.seek("orders", "billing", to="earliest"))
    page = look(shop).go("/subscription?topic=orders&name=billing")
    before = backlog()
    page.get_by_role("link", name="Take a snapshot").click()
    page.get_by_role("heading", name="Snapshot of billing").wait_for()
    text = page.get_by_label("What is acknowledged").input_value()
    page.get_by_role("link", name="billing", exact=True).click()
    card = page.locator("details", has_text="Reset position")
    card.locator("summary").click()
    card.locator("select[name=to]").select_option("latest")
    card.get_by_role("button", name="Reset").click()
    page.get_by_text("Reset billing on orders to latest").wait_for()
    assert backlog() == 0 < before
    card.locator("summary").click()
    card.locator("select[name=to]").select_option("snapshot")
    card.get_by_role("textbox", name="Snapshot").fill(text)
    card.get_by_role("button", name="Reset").click()
    page.get_by_text("Reset billing on orders to the snapshot of billing from").wait_for()
    assert backlog() == before


def test_a_topic_is_made_and_goes_only_when_its_name_is_typed(shop, look):
    page = look(shop).go("/topics")
    page.get_by_text("Create a topic").click()
    page.get_by_label("Name").fill("parcels")
    page.get_by_label("Partitions").fill("3")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="parcels").wait_for()

    def delete(typed: str) -> None:
        page.get_by_text("Delete the topic").click()
        page.get_by_label("Type the topic name").fill(typed)
        page.get_by_role("button", name="Delete parcels").click()

    delete("parcel")
    page.get_by_text("The topic was not deleted").wait_for()
    delete("parcels")
    page.get_by_text("Deleted topic parcels").wait_for()
    assert "parcels" not in [each.name for each in shop.do(shop.broker.topics.list())]


def test_a_subscription_and_a_group_are_deleted(shop, look):
    page = look(shop).go("/subscription?topic=orders&name=packing")
    page.get_by_text("Delete the subscription").click()
    page.get_by_role("button", name="Delete packing").click()
    page.get_by_text("Deleted").wait_for()
    page.goto(f"{shop.url}/group?name=reports")
    page.get_by_text("Delete the group").click()
    page.get_by_role("button", name="Delete reports").click()
    page.get_by_text("Deleted group reports").wait_for()
    assert [name for name, _ in shop.do(shop.broker.subscriptions.list("orders"))] == ["billing"]


def test_an_act_on_what_is_gone_is_told(shop, look):
    page = look(shop).go(f"/transaction?id={shop.shop.stuck}")
    shop.do(shop.broker.transactions.commit(TxnId.parse(str(shop.shop.stuck))))
    page.get_by_text("Abort the transaction").click()
    page.get_by_role("button", name="Abort").click()
    page.locator(".bad", has_text="was committed").wait_for()
    assert page.locator("h1").count() == 1
