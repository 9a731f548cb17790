"""The SDK for threads, made from `_async/` by `scripts/unasync.py`; edit there only."""
