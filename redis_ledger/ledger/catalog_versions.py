"""The versions of the catalog that a broker has read. The catalog raises its version with every change."""

from __future__ import annotations


class CatalogVersions:
    """refreshed: of the last refresh; names: of the last look-up of names; written: after our last change."""

    def __init__(self) -> None:
        self.refreshed = self.names = self.written = -1

    @property
    def newest(self) -> int:
        """The highest version that this broker has read, -1 before the first read."""
        return max(self.refreshed, self.names, self.written)

    def forget(self) -> None:
        """Makes the next look-up and the next refresh read the whole catalog: Redis may hold an older one."""
        self.refreshed = self.names = self.written = -1
