"""Made by `make generate` from Apache Kafka's AddPartitionsToTxnRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, fixed_array, long_length, long_string, skip_tags, too_many

_h = struct.Struct(">h").unpack_from
_i = struct.Struct(">i").unpack_from
_qhB = struct.Struct(">qhB").unpack_from
_qhi = struct.Struct(">qhi").unpack_from
_qhoB = struct.Struct(">qh?B").unpack_from


class AddPartitionsToTxnTopic(Struct, gc=False):
    """The partitions to add to the transaction."""

    name: str = ""  # The name of the topic.
    partitions: list[int] = []  # The partition indexes to add to the transaction.


class AddPartitionsToTxnTransaction(Struct, gc=False):
    """List of transactions to add partitions to."""

    transactional_id: str = ""  # The transactional id corresponding to the transaction.
    producer_id: int = 0  # Current producer id in use by the transactional id.
    producer_epoch: int = 0  # Current epoch associated with the producer id.
    verify_only: bool = False  # Boolean to signify if we want to check if the partition is in the transaction rather than add it.
    topics: list[AddPartitionsToTxnTopic] = []  # The partitions to add to the transaction.


class AddPartitionsToTxnRequest(Struct, gc=False):
    transactions: list[AddPartitionsToTxnTransaction] = []  # List of transactions to add partitions to.
    v3_and_below_transactional_id: str = ""  # The transactional id corresponding to the transaction.
    v3_and_below_producer_id: int = 0  # Current producer id in use by the transactional id.
    v3_and_below_producer_epoch: int = 0  # Current epoch associated with the producer id.
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []  # The partitions to add to the transaction.


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnRequest:
    """Versions 0 to 2."""
    end = len(buf)
    try:
        (n,) = _h(buf, pos); pos += 2
        if not 0 <= n <= end - pos: raise bad_length("v3_and_below_transactional_id", n, end - pos)
        v3_and_below_transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        v3_and_below_producer_id, v3_and_below_producer_epoch, n = _qhi(buf, pos); pos += 14
        if not 0 <= n * 6 <= end - pos: raise bad_length("v3_and_below_topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            (n,) = _i(buf, pos); pos += 4
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            v3_and_below_topics.append(AddPartitionsToTxnTopic(name, partitions))
        return AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_3(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnRequest:
    """Version 3."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("v3_and_below_transactional_id", n, end - pos)
        v3_and_below_transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
        v3_and_below_producer_id, v3_and_below_producer_epoch, n = _qhB(buf, pos); pos += 11
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 3 <= end - pos: raise bad_length("v3_and_below_topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            v3_and_below_topics.append(AddPartitionsToTxnTopic(name, partitions))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return AddPartitionsToTxnRequest([], v3_and_below_transactional_id, v3_and_below_producer_id, v3_and_below_producer_epoch, v3_and_below_topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_4(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> AddPartitionsToTxnRequest:
    """Versions 4 to 5."""
    end = len(buf)
    try:
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 14 <= end - pos: raise bad_length("transactions", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        transactions: list[AddPartitionsToTxnTransaction] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("transactional_id", n, end - pos)
            transactional_id = buf[pos : pos + n].tobytes().decode(); pos += n
            producer_id, producer_epoch, verify_only, n = _qhoB(buf, pos); pos += 12
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            if not 0 <= n * 3 <= end - pos: raise bad_length("topics", n, end - pos)
            if (room := room - n) < 0: raise too_many()
            topics: list[AddPartitionsToTxnTopic] = []
            for _ in range(n):
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_string(buf, pos, n)
                n -= 1
                if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                name = buf[pos : pos + n].tobytes().decode(); pos += n
                n = buf[pos]; pos += 1
                if n > 127: n, pos = long_length(buf, pos, n)
                n -= 1
                if not 0 <= n * 4 <= end - pos: raise bad_length("partitions", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                partitions: list[int] = fixed_array("i", buf, pos, n); pos += n * 4
                n = buf[pos]; pos += 1
                if n: pos, room = skip_tags(buf, pos, n, room)
                topics.append(AddPartitionsToTxnTopic(name, partitions))
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            transactions.append(AddPartitionsToTxnTransaction(transactional_id, producer_id, producer_epoch, verify_only, topics))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        return AddPartitionsToTxnRequest(transactions, "", 0, 0, [])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[AddPartitionsToTxnRequest]] = {
    0: decode_0,
    1: decode_0,
    2: decode_0,
    3: decode_3,
    4: decode_4,
    5: decode_4,
}
