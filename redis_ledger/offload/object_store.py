"""Object store: a folder or a bucket, and the files in it, named relative to it.

    file:///var/lib/x    /var/lib/x    s3://bucket/prefix    gs://bucket/prefix       any URI of pyarrow.fs

A file appears as a whole or not at all: it is written under a temporary name and then moved.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from redis_ledger.errors import InvalidRequest

try:
    import pyarrow as pa
    from pyarrow import fs as filesystems
except ImportError as missing:
    raise ImportError(
        "Offloaded records are Parquet files, which need pyarrow: pip install '.[offload]' in a checkout"
    ) from missing

PART_BYTES_MAX = 255  # of the name of a folder or a file
UNFINISHED = "_tmp-"  # prefix of files that are being written; readers ignore them


class ObjectStore(NamedTuple):
    """fs: a pyarrow FileSystem.  base: the path of the object store in it."""

    uri: str
    fs: Any
    base: str

    @property
    def is_local(self) -> bool:
        return isinstance(self.fs, filesystems.LocalFileSystem)

    def path(self, file: str) -> str:
        """Returns the path in the file system.  Raises InvalidRequest for a name outside the object store."""
        parts = file.split("/")
        is_inside = file.isprintable() and {"", ".", ".."}.isdisjoint(parts)
        if not is_inside or any(len(part.encode()) > PART_BYTES_MAX for part in parts):
            raise InvalidRequest(f"{file!r} is not the name of a file in the object store.")
        return f"{self.base}/{file}"

    def exists(self, file: str = "") -> bool:
        """Whether the file exists; without a name, whether the object store itself does."""
        path = self.path(file) if file else self.base
        return bool(self.fs.get_file_info(path).type != filesystems.FileType.NotFound)

    def folders(self) -> list[str]:
        """Returns the top-level folders, one a topic.  Raises OSError if they cannot be listed."""
        found = self.fs.get_file_info(filesystems.FileSelector(self.base or "/"))
        return [each.base_name for each in found if each.type == filesystems.FileType.Directory]

    def size(self, file: str) -> int:
        """In bytes; -1 if the file does not exist."""
        found = self.fs.get_file_info(self.path(file))
        return int(found.size) if found.type == filesystems.FileType.File else -1

    def read(self, file: str) -> bytes | None:
        """Returns the content; None if the file does not exist."""
        try:
            with self.fs.open_input_file(self.path(file)) as source:
                return bytes(source.readall())
        except FileNotFoundError:
            return None

    def delete(self, file: str) -> None:
        """Does nothing if the file does not exist."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.delete_file(self.path(file))

    def put(self, file: str, content: bytes) -> None:
        with self.writing(file) as sink:
            sink.write(content)

    @contextlib.contextmanager
    def writing(self, file: str) -> Iterator[Any]:
        """Opens a stream.  The file appears when the block ends, and not at all if the block raises."""
        path = self.path(file)
        folder, _, name = path.rpartition("/")
        unfinished = f"{folder}/{UNFINISHED}{secrets.token_hex(6)}-{name.removesuffix('.parquet')}"
        self.fs.create_dir(folder, recursive=True)
        try:
            with self.fs.open_output_stream(unfinished) as sink:
                yield sink
            if self.is_local:
                _sync(unfinished)
            self.fs.move(unfinished, path)
            if self.is_local:
                self._sync_folders(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                self.fs.delete_file(unfinished)
            raise

    def _sync_folders(self, folder: str) -> None:
        """Up to the base: folders that were created for this file must be durable as well."""
        while len(folder) > len(self.base):
            _sync(folder)
            folder = folder.rpartition("/")[0]
        _sync(self.base or "/")


@lru_cache(8)
def open_home(uri: str) -> ObjectStore:
    """Opens an object store.  uri: an absolute path or a URI, as in offload_home.  Raises InvalidRequest."""
    if not uri:
        raise InvalidRequest("There is no object store for offloaded records: set offload_home to a folder or bucket.")
    try:
        found, base = filesystems.FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, OSError, NotImplementedError) as error:
        raise InvalidRequest(
            f"offload_home is {uri!r}, which is neither an absolute path nor a known URI: {error}"
        ) from None
    return ObjectStore(uri, found, base.rstrip("/"))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
