"""What it costs to read and write topics with Spark: the questions are in reading.py, writing.py and offload.py.

python -m bench.spark (this environment)                  Spark's own environment
    broker + embedded Redis  ◀───────── REST ──────────── driver.py: JVM, Python workers
    filling, asking, counting CPU ──── a line of JSON ──▶ one step of work
                                  ◀─── a line of JSON ─── what it did, and how long it took
"""
