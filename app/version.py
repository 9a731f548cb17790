"""The version of what is running, as the package's metadata says."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _version() -> str:
    try:
        return version("redis-ledger")
    except PackageNotFoundError:
        return "0+source"  # run from a checkout that was never installed


VERSION = _version()
