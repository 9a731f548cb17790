"""What does delayed delivery cost?  One module per question; its docstring explains the result.

bench/delay/__main__.py   the command line                    bench/delay/loading.py    millions of records, in process
bench/delay/dues.py       due times of the records of a bench bench/delay/meanwhile.py  delivery beside other producers
bench/delay/kafka.py      requests of a Kafka client          everything else           a question
"""
