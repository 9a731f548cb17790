"""One module for each API that is served; `kafka/routes.py` finds them by their names."""
