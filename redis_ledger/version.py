"""The version of the installed package, from its metadata."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _version() -> str:
    try:
        return version("redis-ledger")
    except PackageNotFoundError:
        return "0+source"  # run from a checkout that was never installed


VERSION = _version()
