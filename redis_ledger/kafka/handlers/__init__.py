"""One module for each API that is served; `kafka/router.py` finds them by their names."""
