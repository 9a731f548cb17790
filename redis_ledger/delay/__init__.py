"""What waits to be delivered: bucketed indexes over delay ledgers (PIP-195)."""
