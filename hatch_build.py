"""Build step of the wheel: adds the file of prepared scripts, since an installed folder may be read-only.

`redis_ledger/store/prepared_scripts.py` describes the file.  An editable install has none: a checkout writes its own.
"""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PreparedScripts(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from redis_ledger.store.prepared_scripts import FILE
        from redis_ledger.store.scripts import Script

        Script.libraries()  # writes the file if it is not up to date
        build_data["artifacts"].append(f"/redis_ledger/_lua/{FILE}")  # Git ignores it, and so would the wheel
