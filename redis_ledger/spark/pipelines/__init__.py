"""Programs that run on Spark against topics: `redis-ledger pipeline NAME`, or `spark-submit` on a file of this folder.

Each has `main(arguments) -> int`.  arguments.py has their common arguments, progress.py their progress lines.
"""
