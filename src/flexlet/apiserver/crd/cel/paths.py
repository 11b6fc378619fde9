"""The ``fieldPath`` of a rule: a JSON path to the field that is to blame, as error messages write it."""

import re
from typing import Final

from flexlet.apiserver.crd.node import Node

_STEP: Final = re.compile(r"\.([^.\[\]']+)|\['((?:[^'\\]|\\.)*)'\]")


def normalized(path: str, node: Node) -> str:
    """The path under a place of the schema: fields with dots, keys of maps in brackets."""
    found = ""
    place: Node | None = node
    for step in _STEP.finditer(path):
        name = step[1] if step[1] is not None else re.sub(r"\\(.)", r"\1", step[2])
        if place is None or place.properties or not place.open:
            found += f".{name}" if found else name
            place = place.properties.get(name) if place is not None else None
        else:
            found += f"[{name}]"
            place = place.additional
    return found
