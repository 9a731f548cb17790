"""Stored messages, generated from proto/ by `make generate`.  The comment of a message names its writer and reader."""
