"""Made by `make generate` from Apache Kafka's CreateTopicsResponse.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.create_topics_response import CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse
from redis_ledger.kafka.protocol.primitives import DAMAGE, ELEMENTS_MAX, NO_UUID, BadFrame, Decoder, bad_length, bad_tag, left_over, long_length, long_string, skip_tags, tag_head, too_many

_h = struct.Struct(">h").unpack_from
_hB = struct.Struct(">hB").unpack_from
_hh = struct.Struct(">hh").unpack_from
_iB = struct.Struct(">iB").unpack_from
_ihB = struct.Struct(">ihB").unpack_from
_ii = struct.Struct(">ii").unpack_from
_oboB = struct.Struct(">?b?B").unpack_from
_uhB = struct.Struct(">16shB").unpack_from


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


DECODERS: dict[int, Decoder[CreateTopicsResponse]] = {
    2: decode_2,
    3: decode_2,
    4: decode_2,
    5: decode_5,
    6: decode_5,
    7: decode_7,
}
