"""Collects tests with less work: a pytest plugin that tests/conftest.py registers.

The garbage collector finds nothing among modules and tests, which stay, so it does not run until all are there, and
passes over them afterwards.  That is a third of the CPU time of a collection.

In a checkout without bytecode, pytest rewrites the assertions of each module, which takes longer than all the rest.
Workers of xdist would all do so at once.  Each imports a share of the modules first, and finds the others as bytecode.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from contextlib import suppress

import pytest


class Collection:
    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[None]:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            import_share(session.config)
            return (yield)
        finally:
            gc.freeze()
            if was_enabled:
                gc.enable()

    def pytest_sessionfinish(self) -> None:
        gc.unfreeze()  # what is left at the end is reported then


def import_share(config: pytest.Config) -> None:
    """Imports the modules of which this worker rewrites the assertions."""
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:  # no workers
        return
    folders = {config.invocation_params.dir / each for each in config.args}
    modules = sorted(path.resolve() for folder in folders if folder.is_dir() for path in folder.rglob("test_*.py"))
    first, workers = int(workerinput["workerid"].removeprefix("gw")), workerinput["workercount"]
    for path in modules[first::workers]:
        with suppress(Exception, pytest.skip.Exception):  # the collection reports it
            importlib.import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))
