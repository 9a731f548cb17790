"""One module per supported API; `kafka/router.py` finds them by name."""
