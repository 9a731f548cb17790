from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redis_ledger.fsck import service
from tests.support.broker import one
from tests.support.fsck_damages import CASES, WITHOUT_CASE, Case, documented
from tests.support.fsck_scene import SETTINGS, Scene, build, checked, goes_on, sentences


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


@pytest.fixture
async def scene(redis_url: str, prefix: str) -> AsyncIterator[Scene]:
    async with one(redis_url, prefix, **SETTINGS) as broker:
        yield await build(broker, redis_url)


def test_every_key_has_a_case():
    assert documented() == CASES.keys() | WITHOUT_CASE


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].deleted])
async def test_a_deleted_key_is_reported_and_repaired(name: str, scene: Scene):
    case = CASES[name]
    await scene.command("DEL", case.key(scene))
    if name == "rl:{catalog}:state":
        await asyncio.sleep(1.5)  # a running broker leaves a claim
    await reported_and_repaired(scene, case, case.deleted)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].damage])
async def test_a_damaged_key_is_reported_and_repaired(name: str, scene: Scene):
    case = CASES[name]
    known = {"<producer>": scene.producer_id, "<txn>": scene.txn.serial}
    command, *args = case.damage
    await scene.command(command, case.key(scene), *(known.get(arg, arg) for arg in args))
    await reported_and_repaired(scene, case, case.damaged)


async def reported_and_repaired(scene: Scene, case: Case, words: str) -> None:
    seen = sentences(await checked(scene))
    assert [sentence for sentence in seen if words in sentence], seen
    report = await checked(scene, repair=True)
    assert [each for each in report.left if each.kind not in case.lost] == [], sentences(report)
    if scene.broker.store.admission.refusal() is not None:
        await asyncio.sleep(1.5)  # the broker looks at Redis twice a second
    if "payload" in case.lost:
        await scene.broker.subscriptions.seek("t", "s", to="latest")  # no consumer passes lost payload by itself
    await goes_on(scene)
    again = await checked(scene)
    assert [each for each in again.left if each.kind not in case.lost] == [], sentences(again)


async def test_the_scene_is_clean(scene: Scene):
    report = await checked(scene)
    assert sentences(report) == []
    await goes_on(scene)
    assert sentences(await checked(scene)) == []
