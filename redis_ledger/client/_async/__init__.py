"""The SDK for an event loop.  `_sync/` is made from this folder by `scripts/unasync.py`; edit here only."""
