"""The pages, one module per subject."""

from __future__ import annotations

import pkgutil
from importlib import import_module


def load() -> None:
    """Imports every module, which registers its pages and actions."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
