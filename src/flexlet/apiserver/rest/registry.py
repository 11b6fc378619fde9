"""The live table of served kinds.

Built-in kinds enter at start, custom ones come and go with their definitions. Every change counts the generation
up (documents built from the table are kept as long as it stands) and is told to listeners.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from flexlet.apiserver.contract.kind import Kind

Listener: TypeAlias = Callable[[Kind, bool], None]
"""Called with a kind and whether it is served now."""


class Registry:
    """Which kinds are served, found by path or by name."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.generation = 0
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._listeners: dict[object, Listener] = {}
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve a kind; one under the same path is replaced."""
        self._by_path[kind.group, kind.version, kind.plural] = kind
        self._by_kind[kind.api_version, kind.kind] = kind
        self._changed(kind, True)

    def remove(self, kind: Kind) -> None:
        """Serve a kind no longer."""
        if self._by_path.pop((kind.group, kind.version, kind.plural), None) is not None:
            self._by_kind.pop((kind.api_version, kind.kind), None)
            self._changed(kind, False)

    def lookup(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a path."""
        return self._by_path.get((group, version, plural))

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The kind of an object's apiVersion and kind."""
        return self._by_kind.get((api_version, kind))

    def stored_in(self, bucket: str) -> Kind | None:
        """The kind whose form a bucket holds; if that one is not served, another face of the bucket."""
        found = [kind for kind in self.kinds() if kind.stored and kind.storage_bucket == bucket]
        return next((kind for kind in found if kind.storage_version), found[0] if found else None)

    def kinds(self) -> tuple[Kind, ...]:
        """All of them, in the order they came; may be asked for in other threads as well."""
        return tuple(self._by_path.values())

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Group -> versions, both in the order they came."""
        found: dict[str, dict[str, None]] = {}
        for group, version, _ in self._by_path:
            found.setdefault(group, {})[version] = None
        return {group: tuple(versions) for group, versions in found.items()}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Hear of every change from now on; returns the way out."""
        handle = object()
        self._listeners[handle] = listener
        return lambda: self._listeners.pop(handle, None) and None

    def _changed(self, kind: Kind, served: bool) -> None:
        self.generation += 1
        for listener in tuple(self._listeners.values()):
            listener(kind, served)
