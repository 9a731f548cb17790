"""Delayed delivery: bucketed indexes over delay ledgers (PIP-195)."""
