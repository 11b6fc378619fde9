"""The columns of a custom resource's Table: its name, then what the definition lists, or else its age.

A cell is empty (null) where its path leads nowhere. Dates are ages already, unlike those of built-in kinds.
Follows ``registry/customresource/tableconvertor``.
"""

from collections.abc import Sequence
from typing import Any, Final

from flexlet.api import age, gotext
from flexlet.apiserver.contract.kind import Column, Object
from flexlet.apiserver.crd import jsonpath
from flexlet.apiserver.crd.jsonpath import Path
from flexlet.apiserver.kinds.columns import COLUMNS
from flexlet.errors import InputError

NAME: Final = COLUMNS["ConfigMap"][0]
_CREATED: Final = COLUMNS["ConfigMap"][-1].description
_AGE: Final = {
    "name": "Age",
    "type": "date",
    "description": _CREATED,
    "jsonPath": ".metadata.creationTimestamp",
}


class Columns:
    """What a version prints."""

    def __init__(self, given: Sequence[Object]) -> None:
        self._paths: list[tuple[str, Path]] = []
        found = [NAME]
        for column in given or (_AGE,):
            path = column["jsonPath"]
            try:
                self._paths.append((column["type"], jsonpath.parse(path)))
            except InputError:
                # Like upstream: what follows a path that is none is not printed.
                break
            found.append(_column(column))
        self.definitions = tuple(found)

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The row of an object."""
        name = obj["metadata"].get("name", "")
        return [name, *(_cell(kind, path, obj, now) for kind, path in self._paths)]


def _column(column: Object) -> Column:
    text = f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"
    return Column(
        name=column["name"],
        type=column["type"],
        format=column.get("format", ""),
        description=column.get("description") or text,
        priority=column.get("priority", 0),
    )


def _cell(kind: str, path: Path, obj: Object, now: float) -> Any:
    try:
        found = path(obj)
    except InputError:
        return None
    if not found:
        return None
    return _text(found[0]) if kind == "string" else _typed(kind, found[0], now)


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    return (
        gotext.json_text(jsonpath.sorted_json(value)) if isinstance(value, dict | list) else gotext.sprint(value)
    )


def _typed(kind: str, value: Any, now: float) -> Any:
    """The value if it is of the column's type."""
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if isinstance(value, int | float):
        return int(value) if kind == "integer" else value if kind == "number" else None
    return _age(value, now) if kind == "date" and isinstance(value, str) else None


def _age(text: str, now: float) -> str:
    try:
        return age.since(text, now)
    except InputError:
        return age.INVALID
