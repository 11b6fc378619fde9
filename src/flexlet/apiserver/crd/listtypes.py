"""Lists that are sets or maps: no member twice, no key twice. Follows ``apiserver/schema/listtype``."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.findings import duplicate, invalid
from flexlet.apiserver.crd.node import Node


def check(obj: Object, root: Node) -> list[FieldError]:
    """What is there twice in an object."""
    return list(_walk(obj, root, "")) if root.has_list_types else []


def _walk(value: Any, node: Node | None, path: str) -> Iterator[FieldError]:
    if node is None or not node.has_list_types:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if node.additional is not None:
                yield from _walk(item, node.additional, f"{path}[{name}]")
            if name in node.properties:
                yield from _walk(item, node.properties[name], f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        if node.list_type == "set":
            yield from (duplicate(f"{path}[{index}]", value[index]) for index in _repeated(value))
        elif node.list_type == "map":
            yield from _check_map(value, node.list_keys, path)
        for index, item in enumerate(value):
            yield from _walk(item, node.items, f"{path}[{index}]")


def _check_map(value: list[Any], keys: tuple[str, ...], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    found = [{key: item[key] for key in sorted(keys) if key in item} if item else {} for item in value]
    yield from (duplicate(f"{path}[{index}]", found[index]) for index in _repeated(found))


def _repeated(members: Sequence[Any]) -> Iterator[int]:
    """Where something appears for the second time; the third is not told."""
    times: dict[bytes, int] = {}
    for index, member in enumerate(members):
        # The sorted JSON tells 1 from true and from 1.0.
        key = msgspec.json.encode(member, order="sorted")
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            yield index
