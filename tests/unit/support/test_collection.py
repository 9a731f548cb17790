from __future__ import annotations

import gc
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.collection import Collection, import_share


@pytest.fixture
def unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_the_garbage_collector_rests_during_a_collection_and_passes_over_what_is_collected():
    gc.unfreeze()
    session: Any = SimpleNamespace(config=SimpleNamespace())
    collection = Collection().pytest_collection(session)
    next(collection)
    assert not gc.isenabled()
    with pytest.raises(StopIteration):
        next(collection)
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1_000


def test_each_module_is_imported_first_by_one_worker_and_those_that_fail_are_left(tmp_path, monkeypatch):
    folder = tmp_path / "of_workers"
    (folder / "inside").mkdir(parents=True)
    names = ["test_a", "test_b", "test_c", "inside.test_d"]
    for name in names:
        (folder / f"{name.replace('.', '/')}.py").write_text("raise ValueError\n" if name == "test_a" else "")
    monkeypatch.syspath_prepend(tmp_path)

    def imported(worker: int, workers: int) -> set[str]:
        config: Any = SimpleNamespace(
            workerinput={"workerid": f"gw{worker}", "workercount": workers},
            invocation_params=SimpleNamespace(dir=tmp_path),
            args=["of_workers", "of_workers/test_a.py::test_x"],
            rootpath=tmp_path.resolve(),
        )
        import_share(config)
        return {name for name in names if sys.modules.pop(f"of_workers.{name}", None) is not None}

    shares = [imported(worker, 2) for worker in range(2)]
    assert set.union(*shares) == {*names} - {"test_a"}
    assert set.intersection(*shares) == set()
    assert imported(0, 1) == {*names} - {"test_a"}
