"""JSON merge patches (RFC 7386): objects merge, null deletes, everything else replaces.

Nulls inside an object that is new to the document are dropped, as the RFC says. Upstream's library also drops
those inside objects of a list that replaces nothing, and keeps those of a list that replaces something; so do we.
"""

from collections.abc import Callable
from typing import Any

from flexlet.api import gotext
from flexlet.api.patch import documents
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import PatchMalformed

Object = dict[str, Any]


def read(body: bytes, *, checked: bool = True) -> Document:
    """Read a merge patch; PatchMalformed if it is none."""
    document = documents.read_object(body, "error decoding patch: ", checked=checked)
    if document.value is None:
        raise PatchMalformed("Invalid JSON Patch")
    return document


def apply(original: Object, patch: Object) -> Object:
    """The original with the patch merged in."""
    return _merged(original, patch, lambda merged: merged)


def text(original: Object, patch: Object) -> str:
    """The patched document as upstream's error messages show it: objects that were touched have sorted keys."""
    return gotext.json_text(_merged(original, patch, lambda merged: {key: merged[key] for key in sorted(merged)}))


def _merged(original: Object, patch: Object, finish: Callable[[Object], Object]) -> Object:
    result = dict(original)
    for key, new in patch.items():
        old = result.get(key)
        if new is None:
            result.pop(key, None)
        elif isinstance(old, dict) and isinstance(new, dict):
            result[key] = _merged(old, new, finish)
        elif isinstance(old, dict):
            result[key] = new
        else:
            result[key] = without_nulls(new)
    return finish(result)


def without_nulls(value: Any) -> Any:
    """The value without null members of objects; null items of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
