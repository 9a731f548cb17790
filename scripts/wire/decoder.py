"""Writes the decoder of one version of one message: straight lines, loops only where the wire has arrays.

Whatever the frame claims is compared with what is left of it before it is believed:

    n = int32                             the frame says how many
    if not 0 <= n * 11 <= end - pos       11: the fewest bytes that an element of this version takes
    if (room := room - n) < 0             room: elements that a message may still have, so that large frames full of
    for _ in range(n)                     tiny elements cost neither much memory nor much time; only now is one made

Reads beyond the end need no test of their own: `struct` and the index raise, and the function tells it as BadFrame.
"""

from __future__ import annotations

from scripts.wire.schema import FIXED, NEVER, Field, Message, Struct
from scripts.wire.source import Source, size_of


class Decoder(Source):
    def __init__(self, message: Message, version: int) -> None:
        super().__init__()
        self.version = version
        self.flexible = version in message.flexible
        for taken in ("buf", "pos", "end", "n", "room"):
            self.name(taken)
        self._indent = 2
        root = self.struct(message.root)
        # Members of a group may send a newer version of "data", which begins as the one that we know.  Bytes behind a
        # request are passed over, as in Kafka: librdkafka 2.16 sends some when it asks Metadata for all topics.
        if message.kind == "response":
            self.line("if pos != end: raise left_over(end - pos)")
        self.line(f"return {root}")

    def write_run(self, run: list[tuple[str, str]]) -> None:
        codes, names = [code for code, _ in run], [name for _, name in run]
        if codes == ["B"]:
            self.raw(f"{names[0]} = buf[pos]; pos += 1")
            return
        one = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
        self.raw(f"{one} = {self.packer(codes, '_')}(buf, pos); pos += {size_of(codes)}")

    def struct(self, struct: Struct) -> str:
        """Reads a struct and returns the expression that makes it."""
        values: dict[str, str] = {}
        for field in struct.fields:
            if self.version in field.versions and self.version not in field.tagged:
                values[field.name] = self.field(field)
            else:
                values[field.name] = field.default_source()
        if self.flexible:
            self.tags(struct, values)
        self.settle()
        return f"{struct.name}({', '.join(values.values())})"

    def field(self, field: Field, name: str | None = None) -> str:
        """Reads a field into a local and returns its name."""
        name = name or self.name(field.name)
        if field.is_array:
            self.array(field, name)
        elif field.struct is not None:
            self.inner(field, field.struct, name)
        elif field.element in FIXED:
            self.take(FIXED[field.element][0], name)
        else:
            self.blob(field, name)
        return name

    def length(self, field: Field, classic: str) -> None:
        """Reads a length into n; -1 is null."""
        if not self.flexible:
            self.take(classic, "n")
            self.settle()
            return
        self.take("B", "n")
        reader = "long_string" if field.element == "string" and not field.is_array else "long_length"
        self.line(f"if n > 127: n, pos = {reader}(buf, pos, n)")
        self.line("n -= 1")

    def refuse(self, field: Field, least: int = 1) -> None:
        size = f"n * {least}" if least > 1 else "n"
        self.line(f'if not 0 <= {size} <= end - pos: raise bad_length("{field.name}", n, end - pos)')

    def blob(self, field: Field, name: str) -> None:
        """A string, bytes or records."""
        self.length(field, "h" if field.element == "string" else "i")
        piece = {
            "string": "buf[pos : pos + n].tobytes().decode()",
            "bytes": "buf[pos : pos + n].tobytes()",
            "records": "buf[pos : pos + n]",
        }[field.element or ""]
        if not field.may_be_null(self.version):
            self.refuse(field)
            self.line(f"{name} = {piece}; pos += n")
            return
        self.line(f"if n == -1: {name} = None")
        with self.block("else:"):
            self.refuse(field)
            self.line(f"{name} = {piece}; pos += n")

    def inner(self, field: Field, struct: Struct, name: str) -> None:
        """A struct that is not in an array; if it may be null, a byte says whether it is there."""
        if not field.may_be_null(self.version):
            self.line(f"{name} = {self.struct(struct)}")
            return
        self.take("b", "n")
        self.line(f"{name}: {struct.name} | None = None")
        with self.block("if n >= 0:"):
            self.line(f"{name} = {self.struct(struct)}")

    def array(self, field: Field, name: str) -> None:
        kind = field.struct.name if field.struct else field.python_type("Buffer").removesuffix(" | None")[5:-1]
        self.length(field, "i")
        if field.may_be_null(self.version):
            self.line(f"{name}: list[{kind}] | None = None")
            with self.block("if n != -1:"):
                self.elements(field, name, declared="")
        else:
            self.elements(field, name, declared=f": list[{kind}]")

    def elements(self, field: Field, name: str, declared: str) -> None:
        self.refuse(field, least_element(field, self.version, self.flexible))
        self.line("if (room := room - n) < 0: raise too_many()")
        if field.struct is None and field.element in FIXED:
            code, size = FIXED[field.element][:2]
            self.line(f'{name}{declared} = fixed_array("{code}", buf, pos, n); pos += n * {size}')
            return
        self.line(f"{name}{declared} = []")
        with self.block("for _ in range(n):"):
            if field.struct is not None:
                self.line(f"{name}.append({self.struct(field.struct)})")
            else:
                one = self.name("one")
                self.blob(Field(**{**vars(field), "is_array": False, "nullable": NEVER}), one)
                self.line(f"{name}.append({one})")

    def tags(self, struct: Struct, values: dict[str, str]) -> None:
        known = [field for field in struct.fields if self.version in field.tagged]
        if not known:
            self.take("B", "n")
            self.line("if n: pos, room = skip_tags(buf, pos, n, room)")
            return
        for field in known:
            values[field.name] = self.name(field.name)
            kind = field.python_type("Buffer")
            self.line(f"{values[field.name]}: {kind} = {field.default_source()}")
        tag, size, stop = self.name("tag"), self.name("size"), self.name("stop")
        self.take("B", "n")
        with self.block("if n:"):
            self.line(f"{tag} = -1")
            self.line("if n > 127: n, pos = long_length(buf, pos, n)")
            self.line("if (room := room - n) < 0: raise too_many()")
            with self.block("for _ in range(n):"):
                self.line(f"{tag}, {size}, pos = tag_head(buf, pos, {tag})")
                self.line(f"{stop} = pos + {size}")
                for number, field in enumerate(known):
                    with self.block(f"{'elif' if number else 'if'} {tag} == {field.tag}:"):
                        self.known(field, values[field.name])
                self.line(f"else: pos = {stop}")
                self.line(f"if pos != {stop}: raise bad_tag({tag}, {size})")

    def known(self, field: Field, name: str) -> None:
        """Reads a tagged field into the local that holds its default."""
        if field.struct is not None and not field.is_array:
            assert not field.is_nullable, field.name
            self.line(f"{name} = {self.struct(field.struct)}")
            return
        # The value is read into a name of its own, since the one that holds the default has a declared type.
        self.line(f"{name} = {self.field(field, self.name(field.name))}")


def least_element(field: Field, version: int, flexible: bool) -> int:
    if field.struct is not None:
        return least_struct(field.struct, version, flexible)
    return least_value(field, version, flexible, array=False)


def least_struct(struct: Struct, version: int, flexible: bool) -> int:
    """The fewest bytes that the struct takes on the wire."""
    carried = [field for field in struct.fields if version in field.versions and version not in field.tagged]
    return sum(least_value(field, version, flexible, field.is_array) for field in carried) + flexible


def least_value(field: Field, version: int, flexible: bool, array: bool) -> int:
    if array:
        return 1 if flexible else 4
    if field.struct is not None:
        return 1 if field.may_be_null(version) else least_struct(field.struct, version, flexible)
    if field.element in FIXED:
        return FIXED[field.element][1]
    return 1 if flexible else (2 if field.element == "string" else 4)
