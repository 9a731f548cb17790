"""What deliver later costs: one module per question, its answer discussed in its docstring.

bench/delay/__main__.py   the command line                    bench/delay/loading.py    millions of records, in process
bench/delay/dues.py       when the records of a bench are due bench/delay/meanwhile.py  firing, while others produce
bench/delay/kafka.py      requests of a Kafka client          everything else           a question
"""
