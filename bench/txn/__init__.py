"""Benches of transactions; each module says what it measures."""
