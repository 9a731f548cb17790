"""Made by `make generate` from Apache Kafka's FetchResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import NO_UUID, ONE_BYTE, Buffer, Encoder, Records, put_records, records_bytes, uvarint

_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ihi = struct.Struct(">ihi").pack
_p_ihqq = struct.Struct(">ihqq").pack
_p_ihqqq = struct.Struct(">ihqqq").pack
_p_iix = struct.Struct(">iix").pack
_p_iqx = struct.Struct(">iqx").pack
_p_qix = struct.Struct(">qix").pack
_p_qq = struct.Struct(">qq").pack
_p_qqx = struct.Struct(">qqx").pack
_p_u = struct.Struct(">16s").pack


class EpochEndOffset(Struct, gc=False):
    """In case divergence is detected based on the `LastFetchedEpoch` and `FetchOffset` in the request, this field indicates the largest epoch and its end offset such that subsequent records are known to diverge."""

    epoch: int = -1  # The largest epoch.
    end_offset: int = -1  # The end offset of the epoch.


class LeaderIdAndEpoch(Struct, gc=False):
    """The current leader of the partition."""

    leader_id: int = -1  # The ID of the current leader or -1 if the leader is unknown.
    leader_epoch: int = -1  # The latest known leader epoch.


class SnapshotId(Struct, gc=False):
    """In the case of fetching an offset less than the LogStartOffset, this is the end offset and epoch that should be used in the FetchSnapshot request."""

    end_offset: int = -1  # The end offset of the epoch.
    epoch: int = -1  # The largest epoch.


class AbortedTransaction(Struct, gc=False):
    """The aborted transactions."""

    producer_id: int = 0  # The producer id associated with the aborted transaction.
    first_offset: int = 0  # The first offset in the aborted transaction.


class PartitionData(Struct, gc=False):
    """The topic partitions."""

    partition_index: int = 0  # The partition index.
    error_code: int = 0  # The error code, or 0 if there was no fetch error.
    high_watermark: int = 0  # The current high water mark.
    last_stable_offset: int = -1  # The last stable offset (or LSO) of the partition. This is the last offset such that the state of all transactional records prior to this offset have been decided (ABORTED or COMMITTED).
    log_start_offset: int = -1  # The current log start offset.
    diverging_epoch: EpochEndOffset | None = None  # In case divergence is detected based on the `LastFetchedEpoch` and `FetchOffset` in the request, this field indicates the largest epoch and its end offset such that subsequent records are known to diverge.
    current_leader: LeaderIdAndEpoch | None = None  # The current leader of the partition.
    snapshot_id: SnapshotId | None = None  # In the case of fetching an offset less than the LogStartOffset, this is the end offset and epoch that should be used in the FetchSnapshot request.
    aborted_transactions: list[AbortedTransaction] | None = []  # The aborted transactions.
    preferred_read_replica: int = -1  # The preferred read replica for the consumer to use on its next fetch request.
    records: Records | None = b""  # The record data.


class FetchableTopicResponse(Struct, gc=False):
    """The response topics."""

    topic: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    partitions: list[PartitionData] = []  # The topic partitions.


class NodeEndpoint(Struct, gc=False):
    """Endpoints for all current-leaders enumerated in PartitionData, with errors NOT_LEADER_OR_FOLLOWER & FENCED_LEADER_EPOCH."""

    node_id: int = 0  # The ID of the associated node.
    host: str = ""  # The node's hostname.
    port: int = 0  # The node's port.
    rack: str | None = None  # The rack of the node, or null if it has not been assigned to a rack.


class FetchResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    error_code: int = 0  # The top level response error code.
    session_id: int = 0  # The fetch session ID, or 0 if this is not part of a fetch session.
    responses: list[FetchableTopicResponse] = []  # The response topics.
    node_endpoints: list[NodeEndpoint] = []  # Endpoints for all current-leaders enumerated in PartitionData, with errors NOT_LEADER_OR_FOLLOWER & FENCED_LEADER_EPOCH.


def encode_4(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 4."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(len(aborted_transactions))
                for one_3 in aborted_transactions:
                    out += _p_qq(one_3.producer_id, one_3.first_offset)
            records = one_2.records
            if records is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(records_bytes(records))
                out = put_records(out, chunks, records)
    return out


def encode_5(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    out += _p_i(message.throttle_time_ms)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(len(aborted_transactions))
                for one_3 in aborted_transactions:
                    out += _p_qq(one_3.producer_id, one_3.first_offset)
            records = one_2.records
            if records is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(records_bytes(records))
                out = put_records(out, chunks, records)
    return out


def encode_7(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 7 to 10."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(len(aborted_transactions))
                for one_3 in aborted_transactions:
                    out += _p_qq(one_3.producer_id, one_3.first_offset)
            records = one_2.records
            if records is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(records_bytes(records))
                out = put_records(out, chunks, records)
    return out


def encode_11(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 11."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    out += _p_i(len(responses))
    for one in responses:
        topic = one.topic
        data = topic.encode()
        out += _p_h(len(data))
        out += data
        partitions = one.partitions
        out += _p_i(len(partitions))
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(len(aborted_transactions))
                for one_3 in aborted_transactions:
                    out += _p_qq(one_3.producer_id, one_3.first_offset)
            out += _p_i(one_2.preferred_read_replica)
            records = one_2.records
            if records is None: out += b"\xff\xff\xff\xff"
            else:
                out += _p_i(records_bytes(records))
                out = put_records(out, chunks, records)
    return out


def encode_12(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 12."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        topic = one.topic
        data = topic.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\0"
            else:
                n = len(aborted_transactions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                for one_3 in aborted_transactions:
                    out += _p_qqx(one_3.producer_id, one_3.first_offset)
            out += _p_i(one_2.preferred_read_replica)
            records = one_2.records
            if records is None: out += b"\0"
            else:
                n = records_bytes(records) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out = put_records(out, chunks, records)
            if one_2.diverging_epoch is not None or one_2.current_leader is not None or one_2.snapshot_id is not None:
                tagged = bytearray(); count = 0
                if one_2.diverging_epoch is not None:
                    part = bytearray()
                    part += _p_iqx(one_2.diverging_epoch.epoch, one_2.diverging_epoch.end_offset)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                if one_2.current_leader is not None:
                    part_2 = bytearray()
                    part_2 += _p_iix(one_2.current_leader.leader_id, one_2.current_leader.leader_epoch)
                    tagged += uvarint(1) + uvarint(len(part_2)) + part_2; count += 1
                if one_2.snapshot_id is not None:
                    part_3 = bytearray()
                    part_3 += _p_qix(one_2.snapshot_id.end_offset, one_2.snapshot_id.epoch)
                    tagged += uvarint(2) + uvarint(len(part_3)) + part_3; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_13(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 13 to 15."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\0"
            else:
                n = len(aborted_transactions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                for one_3 in aborted_transactions:
                    out += _p_qqx(one_3.producer_id, one_3.first_offset)
            out += _p_i(one_2.preferred_read_replica)
            records = one_2.records
            if records is None: out += b"\0"
            else:
                n = records_bytes(records) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out = put_records(out, chunks, records)
            if one_2.diverging_epoch is not None or one_2.current_leader is not None or one_2.snapshot_id is not None:
                tagged = bytearray(); count = 0
                if one_2.diverging_epoch is not None:
                    part = bytearray()
                    part += _p_iqx(one_2.diverging_epoch.epoch, one_2.diverging_epoch.end_offset)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                if one_2.current_leader is not None:
                    part_2 = bytearray()
                    part_2 += _p_iix(one_2.current_leader.leader_id, one_2.current_leader.leader_epoch)
                    tagged += uvarint(1) + uvarint(len(part_2)) + part_2; count += 1
                if one_2.snapshot_id is not None:
                    part_3 = bytearray()
                    part_3 += _p_qix(one_2.snapshot_id.end_offset, one_2.snapshot_id.epoch)
                    tagged += uvarint(2) + uvarint(len(part_3)) + part_3; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    out += b"\0"
    return out


def encode_16(message: FetchResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 16 to 17."""
    out += _p_ihi(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    n = len(responses) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in responses:
        out += _p_u(one.topic_id)
        partitions = one.partitions
        n = len(partitions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
        for one_2 in partitions:
            out += _p_ihqqq(one_2.partition_index, one_2.error_code, one_2.high_watermark, one_2.last_stable_offset, one_2.log_start_offset)
            aborted_transactions = one_2.aborted_transactions
            if aborted_transactions is None: out += b"\0"
            else:
                n = len(aborted_transactions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                for one_3 in aborted_transactions:
                    out += _p_qqx(one_3.producer_id, one_3.first_offset)
            out += _p_i(one_2.preferred_read_replica)
            records = one_2.records
            if records is None: out += b"\0"
            else:
                n = records_bytes(records) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
                out = put_records(out, chunks, records)
            if one_2.diverging_epoch is not None or one_2.current_leader is not None or one_2.snapshot_id is not None:
                tagged = bytearray(); count = 0
                if one_2.diverging_epoch is not None:
                    part = bytearray()
                    part += _p_iqx(one_2.diverging_epoch.epoch, one_2.diverging_epoch.end_offset)
                    tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
                if one_2.current_leader is not None:
                    part_2 = bytearray()
                    part_2 += _p_iix(one_2.current_leader.leader_id, one_2.current_leader.leader_epoch)
                    tagged += uvarint(1) + uvarint(len(part_2)) + part_2; count += 1
                if one_2.snapshot_id is not None:
                    part_3 = bytearray()
                    part_3 += _p_qix(one_2.snapshot_id.end_offset, one_2.snapshot_id.epoch)
                    tagged += uvarint(2) + uvarint(len(part_3)) + part_3; count += 1
                out += uvarint(count) + tagged
            else:
                out += b"\0"
        out += b"\0"
    if message.node_endpoints:
        tagged_2 = bytearray(); count_2 = 0
        if message.node_endpoints:
            part_4 = bytearray()
            node_endpoints = message.node_endpoints
            n = len(node_endpoints) + 1; part_4 += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_4 in node_endpoints:
                part_4 += _p_i(one_4.node_id)
                host = one_4.host
                data = host.encode()
                n = len(data) + 1; part_4 += ONE_BYTE[n] if n < 128 else uvarint(n); part_4 += data
                part_4 += _p_i(one_4.port)
                rack = one_4.rack
                if rack is None: part_4 += b"\0"
                else:
                    data = rack.encode()
                    n = len(data) + 1; part_4 += ONE_BYTE[n] if n < 128 else uvarint(n); part_4 += data
                part_4 += b"\0"
            tagged_2 += uvarint(0) + uvarint(len(part_4)) + part_4; count_2 += 1
        out += uvarint(count_2) + tagged_2
    else:
        out += b"\0"
    return out


ENCODERS: dict[int, Encoder[FetchResponse]] = {
    4: encode_4,
    5: encode_5,
    6: encode_5,
    7: encode_7,
    8: encode_7,
    9: encode_7,
    10: encode_7,
    11: encode_11,
    12: encode_12,
    13: encode_13,
    14: encode_13,
    15: encode_13,
    16: encode_16,
    17: encode_16,
}
