"""Pictures of the console for its documentation, the same in every run: time, data and addresses stand still.

.venv/bin/python scripts/browser.py screenshots [FOLDER]      docs/images/console/<page>-<width>.png
"""

from __future__ import annotations

import io
import math
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image

from redis_ledger.app.console.cluster_snapshot import Sample, snapshot_collector
from redis_ledger.auth.acl import Caller
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.cluster.live_brokers import Node
from redis_ledger.clock import ManualClock
from redis_ledger.store.server_info import NodeInfo
from tests.browser.chrome import chrome
from tests.browser.shop import Shop, fill, people
from tests.support.redis_servers import redis_server
from tests.support.threaded_broker import threaded_broker

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "console"
NOON_MS = 1_993_806_000_000  # 2033-03-07 11:00 UTC: what is scheduled must not be due by the clock of Redis
HELD_UP_MS = 252_000
DESK, PHONE = 1280, 390
# What is on a page: (width, colour scheme) → pictures.
SHOTS = {
    (DESK, "light"): ("overview", "topic", "transaction", "subscription", "scheduled", "brokers", "access"),
    (DESK, "dark"): ("overview",),
    (PHONE, "light"): ("overview",),
}
HEIGHT_MAX = 1_400
COLOURS = 128
DRAWN = "() => [...document.querySelectorAll('[data-chart]')].every((each) => each.querySelector('canvas'))"
REDIS = NodeInfo(
    "10.20.0.5:6379", "7.2.4", "valkey", "9.1.2", "master", 412_000_000, 1.08, 2_147_483_648, "noeviction", True,
    "always", 1, "",
)  # fmt: skip


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    clock = ManualClock(NOON_MS)
    with (
        redis_server() as redis,
        threaded_broker(redis.url, "p", clock=clock, auth_required=True, super_users="User:root") as site,
    ):
        [broker] = site.brokers
        server: Any = broker.delayed.server_clock
        server.low_ms = server.high_ms = clock.now_ms  # Redis's time, by which records become due
        shop, tokens = site.do(fill(broker)), site.do(people(broker))
        site.do(stand_still(broker, clock))
        take_all(site.urls[0], shop, tokens["root"], folder)
    return 0


async def stand_still(broker: Broker, clock: ManualClock) -> None:
    """What differs from run to run, or would in a set-up of one broker on a free port."""
    root = Caller("User:root", "10.20.0.40")
    await broker.audit.note(root, "acl.add", "ALLOW User:till WRITE on TOPIC orders*")
    await broker.audit.note(root, "quota.set", "User:till")
    clock.advance(HELD_UP_MS)
    broker.readiness["durability"] = "disk"
    tokens, entries, security, audit = (
        await broker.security.list_tokens(),
        await broker.audit.entries(9),
        *parts(broker),
    )
    ids = ("3f09b1c7d2aa", "95e2c7c81f64")
    security.list_tokens = answers(
        dict(zip(ids, sorted(tokens.values(), key=lambda each: each.principal), strict=True))
    )
    audit.entries = answers([each._replace(at_ms=clock.now_ms() - n * 41_000) for n, each in enumerate(entries)])
    members: Any = broker.live_brokers
    nodes = [
        Node(n, f"broker-{n - 1}", f"http://10.20.0.{10 + n}:8080", f"10.20.0.{10 + n}", 9092, requires_auth=True)
        for n in (1, 2, 3)
    ]

    async def beat() -> int:
        members._learn(nodes)
        members._name, members.cluster_id = "broker-0", "Zk0pQ1vXQ3mR7n2b"
        return clock.now_ms()

    members.send_heartbeat, broker.name = beat, "broker-0"
    store: Any = broker.store
    store.node_info = answers([REDIS])
    await beat()
    watching = snapshot_collector(broker)
    look = await watching.look()
    total = sum(each.appended for each in look.topics)
    for n in range(60):
        rate = 40 + 25 * math.sin(n / 7) + 12 * math.sin(n / 2.3)
        total -= int(rate * 3)
        watching.samples.appendleft(Sample(clock.now_ms() - (n + 1) * 3_000, total))
    watching._look = answers(look)  # type: ignore[method-assign]


def parts(broker: Broker) -> tuple[Any, Any]:
    return broker.security, broker.audit


def answers(value: Any) -> Any:
    async def same(*_: object) -> Any:
        return value

    return same


def pages(shop: Shop) -> dict[str, str]:
    """Addresses by the name of the picture."""
    return {
        "overview": "",
        "topic": "/topic?" + urlencode({"name": "orders", "show": "all"}),
        "transaction": "/transaction?" + urlencode({"id": str(shop.stuck)}),
        "subscription": "/subscription?" + urlencode({"topic": "orders", "name": "billing"}),
        "scheduled": "/scheduled?topic=mail",
        "brokers": "/brokers",
        "access": "/access",
    }


def take_all(url: str, shop: Shop, token: str, folder: Path) -> None:
    looks = pages(shop)
    with chrome() as browser:
        for (width, scheme), names in SHOTS.items():
            context = browser.new_context(
                viewport={"width": width, "height": 800},
                color_scheme=scheme,
                locale="en-GB",
                timezone_id="Europe/Berlin",
                reduced_motion="reduce",
            )
            page = context.new_page()
            log_in(page, url, token)
            for name in names:
                page.set_viewport_size({"width": width, "height": 400})
                page.goto(f"{url}/console{looks[name]}")
                height = min(page.evaluate("document.documentElement.scrollHeight"), HEIGHT_MAX)
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_function(DRAWN)
                shot = page.screenshot(animations="disabled")
                target = folder / f"{name}{'-dark' if scheme == 'dark' else ''}-{width}.png"
                target.write_bytes(small(shot))
                print(f"{target.name} {target.stat().st_size // 1024} KiB", flush=True)
            context.close()


def log_in(page: Any, url: str, token: str) -> None:
    page.goto(f"{url}/console/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").first.click()
    page.wait_for_url("**/console")


def small(png: bytes) -> bytes:
    """With a palette, which screenshots of text and a few colours do not miss."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
