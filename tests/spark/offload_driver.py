"""A driver with executors in separate processes, one of which dies during an offload.

python -m tests.spark.offload_driver NOTE --bootstrap http://... --topic ... --seal
"""

from __future__ import annotations

import sys
from unittest.mock import patch

from redis_ledger.spark import offloading
from redis_ledger.spark.pipelines import offload
from tests.spark.dying_tasks import Dying

if __name__ == "__main__":
    with patch.object(offloading, "write", Dying("executor", sys.argv[1]).write):
        sys.exit(offload.main(sys.argv[2:]))
