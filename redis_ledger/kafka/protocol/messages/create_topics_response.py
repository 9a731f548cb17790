"""Made by `make wire` from Apache Kafka's CreateTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from msgspec import Struct

from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, ONE_BYTE, BadFrame, Buffer, Decoder, Encoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many, uvarint

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_oboB = struct.Struct(">?b?B").unpack_from
_p_h = struct.Struct(">h").pack
_p_i = struct.Struct(">i").pack
_p_ih = struct.Struct(">ih").pack
_p_obox = struct.Struct(">?b?x").pack
_p_uh = struct.Struct(">16sh").pack
_uhB = struct.Struct(">16shB").unpack_from


class CreatableTopicConfigs(Struct, gc=False):
    """Configuration of the topic."""

    name: str = ""  # The configuration name.
    value: str | None = ""  # The configuration value.
    read_only: bool = False  # True if the configuration is read-only.
    config_source: int = -1  # The configuration source.
    is_sensitive: bool = False  # True if this configuration is sensitive.


class CreatableTopicResult(Struct, gc=False):
    """Results for each topic we tried to create."""

    name: str = ""  # The topic name.
    topic_id: bytes = NO_UUID  # The unique topic ID.
    error_code: int = 0  # The error code, or 0 if there was no error.
    error_message: str | None = ""  # The error message, or null if there was no error.
    topic_config_error_code: int = 0  # Optional topic config error returned if configs are not returned in the response.
    num_partitions: int = -1  # Number of partitions of the topic.
    replication_factor: int = -1  # Replication factor of the topic.
    configs: list[CreatableTopicConfigs] | None = []  # Configuration of the topic.


class CreateTopicsResponse(Struct, gc=False):
    throttle_time_ms: int = 0  # The duration in milliseconds for which the request was throttled due to a quota violation, or zero if the request did not violate any quota.
    topics: list[CreatableTopicResult] = []  # Results for each topic we tried to create.


def decode_2(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateTopicsResponse:
    """Versions 2 to 4."""
    end = len(buf)
    try:
        throttle_time_ms, n = _ii(buf, pos); pos += 8
        if not 0 <= n * 6 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatableTopicResult] = []
        for _ in range(n):
            (n,) = _h(buf, pos); pos += 2
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hh(buf, pos); pos += 4
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            topics.append(CreatableTopicResult(name, NO_UUID, error_code, error_message, 0, -1, -1, []))
        if pos != end: raise left_over(end - pos)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_5(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateTopicsResponse:
    """Versions 5 to 6."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 12 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatableTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            error_code, n = _hB(buf, pos); pos += 3
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            num_partitions, replication_factor, n = _ihB(buf, pos); pos += 7
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            configs: list[CreatableTopicConfigs] | None = None
            if n != -1:
                if not 0 <= n * 6 <= end - pos: raise bad_length("configs", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                configs = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: value = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                        value = buf[pos : pos + n].tobytes().decode(); pos += n
                    read_only, config_source, is_sensitive, n = _oboB(buf, pos); pos += 4
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    configs.append(CreatableTopicConfigs(name_2, value, read_only, config_source, is_sensitive))
            topic_config_error_code: int = 0
            n = buf[pos]; pos += 1
            if n:
                tag = -1
                if n > 127: n, pos = long_length(buf, pos, n)
                if (room := room - n) < 0: raise too_many()
                for _ in range(n):
                    tag, size, pos = tag_head(buf, pos, tag)
                    stop = pos + size
                    if tag == 0:
                        (topic_config_error_code_2,) = _h(buf, pos); pos += 2
                        topic_config_error_code = topic_config_error_code_2
                    else: pos = stop
                    if pos != stop: raise bad_tag(tag, size)
            topics.append(CreatableTopicResult(name, NO_UUID, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def decode_7(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> CreateTopicsResponse:
    """Version 7."""
    end = len(buf)
    try:
        throttle_time_ms, n = _iB(buf, pos); pos += 5
        if n > 127: n, pos = long_length(buf, pos, n)
        n -= 1
        if not 0 <= n * 28 <= end - pos: raise bad_length("topics", n, end - pos)
        if (room := room - n) < 0: raise too_many()
        topics: list[CreatableTopicResult] = []
        for _ in range(n):
            n = buf[pos]; pos += 1
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
            name = buf[pos : pos + n].tobytes().decode(); pos += n
            topic_id, error_code, n = _uhB(buf, pos); pos += 19
            if n > 127: n, pos = long_string(buf, pos, n)
            n -= 1
            if n == -1: error_message = None
            else:
                if not 0 <= n <= end - pos: raise bad_length("error_message", n, end - pos)
                error_message = buf[pos : pos + n].tobytes().decode(); pos += n
            num_partitions, replication_factor, n = _ihB(buf, pos); pos += 7
            if n > 127: n, pos = long_length(buf, pos, n)
            n -= 1
            configs: list[CreatableTopicConfigs] | None = None
            if n != -1:
                if not 0 <= n * 6 <= end - pos: raise bad_length("configs", n, end - pos)
                if (room := room - n) < 0: raise too_many()
                configs = []
                for _ in range(n):
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if not 0 <= n <= end - pos: raise bad_length("name", n, end - pos)
                    name_2 = buf[pos : pos + n].tobytes().decode(); pos += n
                    n = buf[pos]; pos += 1
                    if n > 127: n, pos = long_string(buf, pos, n)
                    n -= 1
                    if n == -1: value = None
                    else:
                        if not 0 <= n <= end - pos: raise bad_length("value", n, end - pos)
                        value = buf[pos : pos + n].tobytes().decode(); pos += n
                    read_only, config_source, is_sensitive, n = _oboB(buf, pos); pos += 4
                    if n: pos, room = skip_tags(buf, pos, n, room)
                    configs.append(CreatableTopicConfigs(name_2, value, read_only, config_source, is_sensitive))
            topic_config_error_code: int = 0
            n = buf[pos]; pos += 1
            if n:
                tag = -1
                if n > 127: n, pos = long_length(buf, pos, n)
                if (room := room - n) < 0: raise too_many()
                for _ in range(n):
                    tag, size, pos = tag_head(buf, pos, tag)
                    stop = pos + size
                    if tag == 0:
                        (topic_config_error_code_2,) = _h(buf, pos); pos += 2
                        topic_config_error_code = topic_config_error_code_2
                    else: pos = stop
                    if pos != stop: raise bad_tag(tag, size)
            topics.append(CreatableTopicResult(name, topic_id, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs))
        n = buf[pos]; pos += 1
        if n: pos, room = skip_tags(buf, pos, n, room)
        if pos != end: raise left_over(end - pos)
        return CreateTopicsResponse(throttle_time_ms, topics)
    except DAMAGE as error:
        raise BadFrame(str(error)) from error


def encode_2(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 2 to 4."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    out += _p_i(len(topics))
    for one in topics:
        name = one.name
        data = name.encode()
        out += _p_h(len(data))
        out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\xff\xff"
        else:
            data = error_message.encode()
            out += _p_h(len(data))
            out += data
    return out


def encode_5(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Versions 5 to 6."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_h(one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        configs = one.configs
        if configs is None: out += b"\0"
        else:
            n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in configs:
                name_2 = one_2.name
                data = name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                value = one_2.value
                if value is None: out += b"\0"
                else:
                    data = value.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_obox(one_2.read_only, one_2.config_source, one_2.is_sensitive)
        if one.topic_config_error_code:
            tagged = bytearray(); count = 0
            if one.topic_config_error_code:
                part = bytearray()
                part += _p_h(one.topic_config_error_code)
                tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
            out += uvarint(count) + tagged
        else:
            out += b"\0"
    out += b"\0"
    return out


def encode_7(message: CreateTopicsResponse, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 7."""
    out += _p_i(message.throttle_time_ms)
    topics = message.topics
    n = len(topics) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in topics:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_uh(one.topic_id, one.error_code)
        error_message = one.error_message
        if error_message is None: out += b"\0"
        else:
            data = error_message.encode()
            n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_ih(one.num_partitions, one.replication_factor)
        configs = one.configs
        if configs is None: out += b"\0"
        else:
            n = len(configs) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
            for one_2 in configs:
                name_2 = one_2.name
                data = name_2.encode()
                n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                value = one_2.value
                if value is None: out += b"\0"
                else:
                    data = value.encode()
                    n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
                out += _p_obox(one_2.read_only, one_2.config_source, one_2.is_sensitive)
        if one.topic_config_error_code:
            tagged = bytearray(); count = 0
            if one.topic_config_error_code:
                part = bytearray()
                part += _p_h(one.topic_config_error_code)
                tagged += uvarint(0) + uvarint(len(part)) + part; count += 1
            out += uvarint(count) + tagged
        else:
            out += b"\0"
    out += b"\0"
    return out


DECODERS: dict[int, Decoder[CreateTopicsResponse]] = {
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_5,
    6: decode_5,
    7: decode_7,
}
ENCODERS: dict[int, Encoder[CreateTopicsResponse]] = {
    2: encode_2,
    3: encode_2,
    4: encode_2,
    5: encode_5,
    6: encode_5,
    7: encode_7,
}
