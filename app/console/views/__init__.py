"""The pages, one module a subject."""

from __future__ import annotations

import pkgutil
from importlib import import_module


def load() -> None:
    """Puts every page and act into the tables."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
