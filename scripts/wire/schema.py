"""Kafka's message definitions, read: JSON with // comments → Message, cut to the versions that we speak.

    {"name": "Index", "type": "int32", "versions": "0+"}      a field, and the versions of the message that carry it
    {"type": "[]Topic", "fields": [...]}                      an array of structs; the struct is defined in place
    {"type": "string", "nullableVersions": "3+"}              null is allowed from version 3 on
    {"tag": 0, "taggedVersions": "12+"}                       sits in the tagged section, if it says something
    "flexibleVersions": "9+"                                  lengths are varints and every struct ends in tagged fields

What our versions never carry is left out.  Source: clients/src/main/resources/common/message/README.md of Apache Kafka.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

LAST = 1 << 15
# Type → format character of `struct`, bytes, type in Python, value that stands for "nothing said".
FIXED = {
    "int8": ("b", 1, "int", "0"),
    "int16": ("h", 2, "int", "0"),
    "uint16": ("H", 2, "int", "0"),
    "int32": ("i", 4, "int", "0"),
    "uint32": ("I", 4, "int", "0"),
    "int64": ("q", 8, "int", "0"),
    "float64": ("d", 8, "float", "0.0"),
    "bool": ("?", 1, "bool", "False"),
    "uuid": ("16s", 16, "bytes", "NO_UUID"),
}
VARIABLE = {"string": ("str", '""'), "bytes": ("bytes", 'b""'), "records": ("Records", 'b""')}


class Versions(NamedTuple):
    """Both ends included; none at all when last < first."""

    first: int
    last: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version <= self.last

    def all(self) -> range:
        return range(self.first, self.last + 1)

    def cut(self, other: Versions) -> Versions:
        return Versions(max(self.first, other.first), min(self.last, other.last))


NEVER = Versions(0, -1)


def versions(text: str | None) -> Versions:
    """ "3-13", "9+", "4" and "none", as the definitions write them."""
    if text is None or text == "none":
        return NEVER
    if text.endswith("+"):
        return Versions(int(text[:-1]), LAST)
    first, _, last = text.partition("-")
    return Versions(int(first), int(last or first))


@dataclass
class Field:
    """element: the primitive's name, or None when `struct` says what is inside."""

    name: str
    about: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    is_array: bool
    element: str | None
    struct: Struct | None
    default: Any

    @property
    def is_nullable(self) -> bool:
        return self.nullable.last >= self.nullable.first

    @property
    def is_tagged_struct(self) -> bool:
        """None means absent, which is cheaper than a struct that says nothing, and says it better."""
        return self.tag is not None and self.struct is not None and not self.is_array

    def may_be_null(self, version: int) -> bool:
        return version in self.nullable

    def python_type(self, records: str) -> str:
        """records: what a records field is called here; requests bring a view, responses may be made of pieces."""
        if self.struct is not None:
            one = self.struct.name
        else:
            one = FIXED[self.element][2] if self.element in FIXED else VARIABLE[self.element or ""][0]
            one = records if one == "Records" else one
        kind = f"list[{one}]" if self.is_array else one
        return f"{kind} | None" if self.is_nullable or self.is_tagged_struct else kind

    def default_source(self) -> str:
        """The value of a field that was not sent, as an expression."""
        said = self.default
        if self.is_tagged_struct or (said == "null" and self.is_nullable):
            return "None"
        if self.is_array:
            return "[]"
        if self.struct is not None:
            return f"{self.struct.name}()"
        assert self.element is not None
        if said is None or said == "":
            return (VARIABLE if self.element in VARIABLE else FIXED)[self.element][-1]
        if self.element == "string":
            return repr(said)
        return str(str(said).lower() == "true") if self.element == "bool" else str(int(str(said), 0))


@dataclass
class Struct:
    name: str
    about: str
    fields: list[Field] = field(default_factory=list)


@dataclass
class Message:
    """structs: those inside, each after the ones that it needs itself.  kind: request, response or data."""

    name: str
    kind: str
    api_key: int | None
    versions: Versions
    flexible: Versions
    root: Struct
    structs: list[Struct]

    @property
    def module(self) -> str:
        return snake(self.name)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def parse(text: str) -> dict[str, Any]:
    definition = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    assert isinstance(definition, dict)
    return definition


def read(path: Path, ours: str | None) -> Message:
    """ours: the versions to keep; None keeps all that the definition calls stable."""
    definition = parse(path.read_text())
    valid = versions(definition["validVersions"])
    if definition.get("latestVersionUnstable"):
        valid = Versions(valid.first, valid.last - 1)
    kept = versions(ours) if ours else valid
    assert kept.cut(valid) == kept, f"{path.name} has versions {valid}, not {kept}"
    common = {one["name"]: one for one in definition.get("commonStructs", [])}
    made: dict[str, Struct] = {}

    def struct_of(name: str, fields: list[dict[str, Any]], about: str, within: tuple[str, ...]) -> Struct:
        assert name not in within, f"{path.name}: {name} contains itself"
        if name not in made:
            struct = Struct(name, about)
            struct.fields = [*fields_of(fields, (*within, name))]
            made[name] = struct
        return made[name]

    def fields_of(fields: list[dict[str, Any]], within: tuple[str, ...]) -> Iterator[Field]:
        for one in fields:
            carried = versions(one["versions"]).cut(kept)
            if carried.last < carried.first:
                continue
            kind = one["type"].removeprefix("[]")
            primitive = kind in FIXED or kind in VARIABLE
            inner = one.get("fields") or common.get(kind, {}).get("fields", [])
            assert primitive or inner, f"{path.name}: {kind} is not defined"
            # A field may be classic in a flexible message, as the client id in the request header is; none of ours is.
            assert "flexibleVersions" not in one, f"{path.name}: {one['name']}"
            tagged = versions(one.get("taggedVersions")).cut(carried)
            assert "tag" not in one or tagged == carried, f"{path.name}: {one['name']} is tagged in some versions only"
            name = snake(one["name"])
            assert not keyword.iskeyword(name), f"{path.name}: {name}"
            yield Field(
                name=name,
                about=" ".join(one.get("about", "").split()),
                versions=carried,
                nullable=versions(one.get("nullableVersions")).cut(carried),
                tagged=tagged,
                tag=one.get("tag"),
                is_array=one["type"].startswith("[]"),
                element=kind if primitive else None,
                struct=None if primitive else struct_of(kind, inner, " ".join(one.get("about", "").split()), within),
                default=one.get("default"),
            )

    root = Struct(definition["name"], "")
    root.fields = [*fields_of(definition["fields"], (root.name,))]
    return Message(
        name=definition["name"],
        kind=definition["type"],
        api_key=definition.get("apiKey"),
        versions=kept,
        flexible=versions(definition["flexibleVersions"]).cut(kept),
        root=root,
        structs=[*made.values()],
    )
