"""Benchmarks: one module per question; its docstring explains the result.

bench/__main__.py   the command line            bench/processes.py  a broker and a Redis for a bench
bench/lab.py        warm-up, runs, medians      bench/load.py       the load generator
bench/figures.py    figures, goals and tables   bench/delay/        questions about delayed delivery
bench/kafka_peer/   against Apache Kafka        bench/spark/        questions about Spark and Parquet
bench/growth/       what the cost grows with    bench/survive/      how long clients wait when something dies
"""
