"""Made by `make generate` from Apache Kafka's DescribeClusterResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, BadFrame, Decoder, bad_length, left_over, long_length, long_string, skip_tags, too_many

_bB = struct.Struct(">bB").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_oB = struct.Struct(">?B").unpack_from


def decode_0(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 0."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        n = buf[pos]; pos += 1
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, False))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, 1, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_1(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 1."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        endpoint_type, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 11 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            n = buf[pos]; pos += 1
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, False))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> DescribeClusterResponse:
    """Version 2."""
    end = len(buf)
    try:
        throttle_time_ms, error_code, n = _ihB(buf, pos); pos += 7
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if n == -1: error_message = None
        else:
            if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
            error_message = buf[pos : pos + n].tobytes().decode(); pos += n
        endpoint_type, n = _bB(buf, pos); pos += 2
        if n > 127: n, pos = long_string(buf, pos, n)
        n -= 1
        if not 0 <= n <= end - pos: raise bad_length("cluster_id", n, end - pos)
        cluster_id = buf[pos : pos + n].tobytes().decode(); pos += n
        controller_id, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 12 <= end - pos: raise bad_length("brokers", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        brokers: list[DescribeClusterBroker] = []
        for _ in range(n):
            broker_id, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("host", n, end - pos)
            host = buf[pos : pos + n].tobytes().decode(); pos += n
            port, n = _iB(buf, pos); pos += 5
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: rack = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("rack", n, end - pos)
                rack = buf[pos : pos + n].tobytes().decode(); pos += n
            is_fenced, n = _oB(buf, pos); pos += 2
            if n: pos, room = skip_tags(buf, pos, n, room)
            brokers.append(DescribeClusterBroker(broker_id, host, port, rack, is_fenced))
        cluster_authorized_operations, n = _iB(buf, pos); pos += 5
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


DECODERS: dict[int, Decoder[DescribeClusterResponse]] = {
    0: decode_0,
    1: decode_1,
    2: decode_2,
}
