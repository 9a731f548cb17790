"""Made by `make generate` from Apache Kafka's AlterUserScramCredentialsRequest.json (Apache License 2.0); do not edit."""

from __future__ import annotations

import struct

from redis_ledger.kafka.protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from redis_ledger.kafka.protocol.primitives import ONE_BYTE, Buffer, Encoder, uvarint

_p_bi = struct.Struct(">bi").pack
_p_bx = struct.Struct(">bx").pack


def encode_0(message: AlterUserScramCredentialsRequest, out: bytearray, chunks: list[Buffer]) -> bytearray:
    """Version 0."""
    deletions = message.deletions
    n = len(deletions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one in deletions:
        name = one.name
        data = name.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_bx(one.mechanism)
    upsertions = message.upsertions
    n = len(upsertions) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n)
    for one_2 in upsertions:
        name_2 = one_2.name
        data = name_2.encode()
        n = len(data) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += data
        out += _p_bi(one_2.mechanism, one_2.iterations)
        salt = one_2.salt
        n = len(salt) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += salt
        salted_password = one_2.salted_password
        n = len(salted_password) + 1; out += ONE_BYTE[n] if n < 128 else uvarint(n); out += salted_password
        out += b"\0"
    out += b"\0"
    return out


ENCODERS: dict[int, Encoder[AlterUserScramCredentialsRequest]] = {
    0: encode_0,
}
