"""Kafka's wire format: bytes ⇄ values, and nothing else.

primitives.py   lengths, varints, tagged fields; BadFrame
messages/       one module for each request and response, made by `make generate` from schemas/
registry.py     (api key, version) → decoder, encoder; loads a message's module when it is first asked for
frame.py        length prefix and headers around a message
"""
