"""Mirrors topics and consumer group offsets of a Kafka cluster to redis-ledger, exactly once.

    source ─▶ getmany ─▶ one transaction on the target: records, offset translation, source position
    groups of the source ─▶ their offsets, translated ─▶ committed on the target, for groups without members there

Source and target offsets differ: transactions write markers, and trimmed records are missing.  So each transaction also
writes the mapping of its offset ranges (offsets.py) to an internal topic.  A mirror that was killed reads the topic and
continues, without duplicates and gaps.  Both clusters are accessed with the Kafka protocol.
Source: KIP-382 (MirrorMaker 2: offset syncs, translated checkpoints).
"""
