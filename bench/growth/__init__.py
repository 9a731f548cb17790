"""What does the cost grow with?  One module per question; its docstring explains the result.

bench/growth/__main__.py  the command line            bench/growth/counts.py    commands and CPU of Redis
bench/growth/sessions.py  fetch sessions of Kafka     everything else           a question
"""
