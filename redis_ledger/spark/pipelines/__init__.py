"""Programs that run on Spark against topics: `redis-ledger pipeline NAME`, or `spark-submit` on a file of this folder.

Each has `main(arguments) -> int`.  What they can be told alike is in arguments.py, how they tell where they are in
progress.py.
"""
