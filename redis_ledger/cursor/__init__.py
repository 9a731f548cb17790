"""Subscriptions and their cursors: acknowledgements, leases, and committed offsets of Kafka groups."""
