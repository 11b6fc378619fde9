"""The three lists of containers a pod spec has, walked in upstream's order."""

from collections.abc import Iterator
from typing import Final

from flexlet.apiserver.contract.kind import Object

CONTAINER_LISTS: Final = ("initContainers", "containers", "ephemeralContainers")


def all_containers(spec: Object) -> Iterator[Object]:
    """Init, regular and ephemeral containers."""
    for key in CONTAINER_LISTS:
        yield from spec.get(key) or ()


def containers_with_paths(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """The same, each with its path."""
    for key in CONTAINER_LISTS:
        for i, container in enumerate(spec.get(key) or ()):
            yield container, f"{path}.{key}[{i}]"
