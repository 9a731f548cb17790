"""Mirroring topics of a Kafka into redis-ledger, exactly once, with the offsets of consumer groups kept.

    source ─▶ getmany ─▶ one transaction on the target: records, where they went, how far the source is read
    groups of the source ─▶ their offsets, translated ─▶ committed on the target, for groups that nobody uses there yet

An offset of the source is another one on the target: transactions leave markers, and what retention has trimmed is
missing.  So each transaction also writes where a stretch of source offsets went (offsets.py), to a topic of its own; a
mirror that was killed reads it and goes on, with nothing doubled and nothing left out.  Both ends are spoken to as any
Kafka client speaks.  Source: KIP-382 (MirrorMaker 2: offset syncs, translated checkpoints).
"""
