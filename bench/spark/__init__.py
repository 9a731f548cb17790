"""What does it cost to read and write topics with Spark?  The questions are in reading.py, writing.py and offload.py.

python -m bench.spark (this environment)                  Spark's own environment
    broker + embedded Redis  ◀───────── REST ──────────── driver.py: JVM, Python workers
        filling, counting CPU ────────────── a line of JSON ──▶ one step of work
                                      ◀───── a line of JSON ─── its result, and how long it took
"""
