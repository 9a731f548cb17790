"""Puts generated modules together: the classes of one message, its decoders and encoders, and a table of versions.

A broker reads requests and writes responses; tests and benches, as clients, do the opposite.  What only they need is a
module of its own, which imports the classes.

Versions whose layout is the same share a function; most messages have three or four layouts for ten versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from scripts.wire.decoder import Decoder
from scripts.wire.encoder import Encoder
from scripts.wire.schema import Message, Struct
from scripts.wire.source import Source

NOTICE = "Made by `make generate` from Apache Kafka's {name}.json (Apache License 2.0); do not edit."
PRIMITIVES = (
    "DAMAGE", "ELEMENTS_MAX", "NO_UUID", "ONE_BYTE", "BadFrame", "Buffer", "Decoder", "Encoder", "Records",
    "bad_length", "bad_tag", "fixed_array", "left_over", "long_length", "long_string", "pack_array", "put_records",
    "records_bytes", "skip_tags", "tag_head", "too_many", "uvarint",
)  # fmt: skip


def spans(versions: list[int]) -> str:
    """ "3 to 8, 10", for docstrings."""
    runs = [[version for _, version in run] for _, run in groupby(enumerate(versions), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def layouts(message: Message, write: Callable[[Message, int], Source]) -> list[tuple[list[int], Source]]:
    """Versions grouped by the lines that read or write them, each group under its first version."""
    groups: dict[str, tuple[list[int], Source]] = {}
    for version in message.versions.all():
        source = write(message, version)
        groups.setdefault("\n".join(source.lines), ([], source))[0].append(version)
    return list(groups.values())


def class_of(struct: Struct, records: str) -> list[str]:
    lines = [f"class {struct.name}(Struct, gc=False):"]
    if struct.about:
        about = struct.about.replace("\\", "\\\\").replace('"', "'")
        lines.append(f'    """{about}"""\n')
    for field in struct.fields:
        declared = f"    {field.name}: {field.python_type(records)} = {default_for_class(field.default_source())}"
        lines.append(f"{declared}  # {field.about}" if field.about else declared)
    if len(lines) == 1:
        lines.append("    pass")
    return [*lines, "\n"]


def default_for_class(source: str) -> str:
    return f"field(default_factory={source[:-2]})" if source.endswith("()") else source


def decoder_lines(message: Message, versions: list[int], source: Source) -> list[str]:
    return [
        f"def decode_{versions[0]}(buf: memoryview, pos: int, room: int = ELEMENTS_MAX) -> {message.name}:",
        f'    """Versions {spans(versions)}."""' if len(versions) > 1 else f'    """Version {versions[0]}."""',
        "    end = len(buf)",
        "    try:",
        *source.lines,
        "    except DAMAGE as error:",
        "        raise BadFrame(str(error)) from error",
        "\n",
    ]


def encoder_lines(message: Message, versions: list[int], source: Source) -> list[str]:
    return [
        f"def encode_{versions[0]}(message: {message.name}, out: bytearray, chunks: list[Buffer]) -> bytearray:",
        f'    """Versions {spans(versions)}."""' if len(versions) > 1 else f'    """Version {versions[0]}."""',
        *source.lines,
        "\n",
    ]


def table(name: str, kind: str, prefix: str, groups: list[tuple[list[int], Source]]) -> list[str]:
    pairs = sorted((version, f"{prefix}_{versions[0]}") for versions, _ in groups for version in versions)
    return [f"{name}: dict[int, {kind}] = {{", *(f"    {version}: {function}," for version, function in pairs), "}"]


def module(message: Message, *, classes: bool, decode: bool, encode: bool) -> str:
    """The source of one module.  Without classes it takes them from the module of the same name in the library."""
    records = "Buffer" if message.kind == "request" else "Records"
    decoders = layouts(message, Decoder) if decode else []
    encoders = layouts(message, Encoder) if encode else []
    structs = [*message.structs, message.root]
    lines: list[str] = []
    for struct in structs if classes else []:
        lines += class_of(struct, records)
    for versions, source in decoders:
        lines += decoder_lines(message, versions, source)
    for versions, source in encoders:
        lines += encoder_lines(message, versions, source)
    if decode:
        lines += table("DECODERS", f"Decoder[{message.name}]", "decode", decoders)
    if encode:
        lines += table("ENCODERS", f"Encoder[{message.name}]", "encode", encoders)
    body = "\n".join(lines) + "\n"

    packers = {name: code for _, source in [*decoders, *encoders] for name, code in source.packers.items()}
    used = [name for name in PRIMITIVES if _uses(body, name)]
    head = [f'"""{NOTICE.format(name=message.name)}"""\n', "from __future__ import annotations\n"]
    if packers:
        head.append("import struct\n")
    if classes:
        head.append(f"from msgspec import Struct{', field' if 'field(' in body else ''}\n")
    else:
        names = sorted(struct.name for struct in structs if _uses(body, struct.name))
        head.append(f"from redis_ledger.kafka.protocol.messages.{message.module} import {', '.join(names)}")
    if used:
        head.append(f"from redis_ledger.kafka.protocol.primitives import {', '.join(used)}\n")
    for name, code in sorted(packers.items()):
        head.append(f'{name} = struct.Struct("{code}").{"pack" if name.startswith("_p_") else "unpack_from"}')
    return "\n".join(head) + "\n\n\n" + body


def _uses(body: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"']){name}\b(?![\"'])", body) is not None
