"""The program that is submitted to a cluster: runs jobs in sequence and prints the outcome of each as a JSON line."""

from __future__ import annotations

import json
import sys

from redis_ledger.spark import session
from tests.spark.driver import Copy, prepared


def main() -> None:
    spark = prepared(session())
    spark.sparkContext.setLogLevel("ERROR")
    for given in json.loads(sys.argv[1]):
        Copy(**given).run(spark)
        print(json.dumps({"done": given["sink"], "master": spark.sparkContext.master}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
