"""A broker process of a run: `redis-ledger serve`, with a planted bug if the environment names one (planted.py)."""

from __future__ import annotations

import os

from redis_ledger.app.entry import main
from tests.sim import planted

if __name__ == "__main__":
    planted.plant(os.environ.get(planted.VARIABLE, ""))
    main()
