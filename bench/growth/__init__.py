"""What the cost grows with: one module per question, its answer discussed in its docstring.

bench/growth/__main__.py  the command line            bench/growth/counts.py    what Redis has done, by its own counts
bench/growth/sessions.py  fetch sessions of Kafka     everything else           a question
"""
