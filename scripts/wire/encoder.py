"""Writes the encoder of one version of one message: appends to a bytearray, in as few calls as the layout allows.

A field that the version does not carry is left out, whatever its value: the caller makes one answer for all versions.
Tagged fields are written only when they say something.  Records are not copied unless they are small: the bytearray so
far and the records become chunks of their own, and a new bytearray goes on behind them.
"""

from __future__ import annotations

from scripts.wire.schema import FIXED, Field, Message, Struct
from scripts.wire.source import Source


class Encoder(Source):
    def __init__(self, message: Message, version: int) -> None:
        super().__init__()
        self.version = version
        self.flexible = version in message.flexible
        for taken in ("out", "chunks", "message", "n", "data"):
            self.name(taken)
        self.out = "out"
        self.struct(message.root, "message")
        self.line("return out")

    def write_run(self, run: list[tuple[str, str]]) -> None:
        codes = [code for code, _ in run]
        if all(code == "x" for code in codes):
            self.raw(f'{self.out} += b"' + r"\0" * len(codes) + '"')
            return
        values = ", ".join(value for code, value in run if code != "x")
        self.raw(f"{self.out} += {self.packer(codes, '_p_')}({values})")

    def struct(self, struct: Struct, value: str) -> None:
        for field in struct.fields:
            if self.version in field.versions and self.version not in field.tagged:
                self.field(field, f"{value}.{field.name}")
        if self.flexible:
            self.tags(struct, value)

    def field(self, field: Field, value: str) -> None:
        if field.element in FIXED and not field.is_array:
            self.take(FIXED[field.element][0], value)
            return
        local = self.name(field.name)
        self.line(f"{local} = {value}")
        if not field.may_be_null(self.version):
            # The class allows null where some version does; in this one it is a mistake of the caller.
            if field.is_nullable:
                self.line(f'assert {local} is not None, "{field.name} is null"')
            self.present(field, local)
            return
        self.line(f"if {local} is None: {self.out} += {self.null(field)}")
        with self.block("else:"):
            self.present(field, local)

    def null(self, field: Field) -> str:
        if field.struct is not None and not field.is_array:
            return r'b"\xff"'
        if self.flexible:
            return r'b"\0"'
        size = 2 if field.element == "string" and not field.is_array else 4
        return 'b"' + r"\xff" * size + '"'

    def present(self, field: Field, local: str) -> None:
        if field.is_array:
            self.array(field, local)
        elif field.struct is not None:
            if field.may_be_null(self.version):
                self.line(rf'{self.out} += b"\x01"')
            self.struct(field.struct, local)
        elif field.element == "string":
            self.line(f"data = {local}.encode()")
            self.length("len(data)", "h", "data")
        elif field.element == "bytes":
            self.length(f"len({local})", "i", local)
        else:
            assert self.out == "out", "records in a tagged field"
            self.length(f"records_bytes({local})", "i")
            self.line(f"out = put_records(out, chunks, {local})")

    def length(self, size: str, classic: str, then: str = "") -> None:
        """then: what follows the length at once."""
        follows = f"; {self.out} += {then}" if then else ""
        if not self.flexible:
            self.take(classic, size)
            if then:
                self.line(follows.removeprefix("; "))
            return
        self.line(f"n = {size} + 1; {self.out} += ONE_BYTE[n] if n < 128 else uvarint(n){follows}")

    def array(self, field: Field, local: str) -> None:
        self.length(f"len({local})", "i")
        if field.struct is None and field.element in FIXED:
            self.line(f'{self.out} += pack_array("{FIXED[field.element][0]}", {local})')
            return
        one = self.name("one")
        with self.block(f"for {one} in {local}:"):
            if field.struct is not None:
                self.struct(field.struct, one)
            else:
                self.present(Field(**{**vars(field), "is_array": False}), one)

    def tags(self, struct: Struct, value: str) -> None:
        known = [field for field in struct.fields if self.version in field.tagged]
        if not known:
            self.take("x", "")
            return
        says = [self.says(field, f"{value}.{field.name}") for field in known]
        with self.block(f"if {' or '.join(says)}:"):
            tagged, count, outer = self.name("tagged"), self.name("count"), self.out
            self.line(f"{tagged} = bytearray(); {count} = 0")
            for field, condition in sorted(zip(known, says, strict=True), key=lambda pair: pair[0].tag or 0):
                with self.block(f"if {condition}:"):
                    self.out = self.name("part")
                    self.line(f"{self.out} = bytearray()")
                    self.tagged(field, f"{value}.{field.name}")
                    self.line(f"{tagged} += uvarint({field.tag}) + uvarint(len({self.out})) + {self.out}; {count} += 1")
                self.out = outer
            self.line(f"{self.out} += uvarint({count}) + {tagged}")
        with self.block("else:"):
            self.take("x", "")

    def tagged(self, field: Field, value: str) -> None:
        if field.is_tagged_struct and field.struct is not None:
            self.struct(field.struct, value)
        else:
            self.field(field, value)

    def says(self, field: Field, value: str) -> str:
        """The condition under which a tagged field is written."""
        if field.is_tagged_struct or (field.is_nullable and field.default_source() == "None"):
            return f"{value} is not None"
        if field.default_source() in ("0", '""', "[]", "False", 'b""'):
            return value
        return f"{value} != {field.default_source()}"
