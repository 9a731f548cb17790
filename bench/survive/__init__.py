"""Benches of faults: how long clients wait when a broker or a Redis dies."""
