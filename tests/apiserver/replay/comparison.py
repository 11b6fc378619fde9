"""Comparing an answer with the recorded one: the same value but for placeholders.

managedFields are left out on both sides; causes are a set, and so are the parts of a message that lists them and
the rules of a review.
Lists of named things are lined up by name where their names differ, so that one missing thing is one difference.
"""

from typing import Any, Final

import msgspec
from tests.apiserver.replay.bindings import TOKEN, Bindings

Map = dict[str, Any]
UNORDERED: Final = frozenset({"resourceRules", "nonResourceRules"})


class Difference(msgspec.Struct, frozen=True):
    """One place where an answer is not the recorded one."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


COLLECTIONS: Final = ("List", "Table")
"""Their version is the store's at the moment of reading, and the server's own loops write too."""


def differences(expected: Any, actual: Any, bindings: Bindings) -> list[Difference]:
    """What differs."""
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.get("kind", "").endswith(COLLECTIONS):
        bindings.advance(_version(expected), _version(actual))
    return _compare("", _settled(expected), _settled(actual), bindings)


def _version(body: Map) -> str:
    return str((body.get("metadata") or {}).get("resourceVersion", ""))


def _compare(path: str, expected: Any, actual: Any, bindings: Bindings) -> list[Difference]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _maps(path, expected, actual, bindings)
    if isinstance(expected, list) and isinstance(actual, list):
        return _lists(path, expected, actual, bindings)
    if isinstance(expected, str) and isinstance(actual, str):
        problem = bindings.match(expected, actual)
        text = f"{problem}\n    recorded {expected!r}\n    ours     {actual!r}"
        return [Difference(path, text)] if problem else []
    if expected == actual and type(expected) is type(actual):
        return []
    return [Difference(path, f"recorded {_short(expected)}, ours {_short(actual)}")]


def _maps(path: str, expected: Map, actual: Map, bindings: Bindings) -> list[Difference]:
    found: list[Difference] = []
    if isinstance(expected.get("metadata"), dict) and isinstance(expected["metadata"].get("uid"), str):
        bindings.scope = expected["metadata"]["uid"]
    for key in expected:
        if key in actual:
            found += _compare(f"{path}.{key}", expected[key], actual[key], bindings)
    found += [_missing(f"{path}.{key}", expected[key]) for key in expected if key not in actual]
    found += [_extra(f"{path}.{key}", actual[key]) for key in actual if key not in expected]
    return found


def _lists(path: str, expected: list[Any], actual: list[Any], bindings: Bindings) -> list[Difference]:
    names, ours = _names(expected), _names(actual)
    if names is not None and ours is not None and names != ours:
        return _named(
            path, dict(zip(names, expected, strict=True)), dict(zip(ours, actual, strict=True)), bindings
        )
    found: list[Difference] = []
    for index, (one, other) in enumerate(zip(expected, actual, strict=False)):
        found += _compare(f"{path}[{index}]", one, other, bindings)
    found += [_missing(f"{path}[{index}]", expected[index]) for index in range(len(actual), len(expected))]
    found += [_extra(f"{path}[{index}]", actual[index]) for index in range(len(expected), len(actual))]
    return found


def _named(path: str, expected: Map, actual: Map, bindings: Bindings) -> list[Difference]:
    found: list[Difference] = []
    common = [name for name in expected if name in actual]
    if common != [name for name in actual if name in expected]:
        found.append(Difference(path, f"in another order: recorded {list(expected)}, ours {list(actual)}"))
    for name in common:
        found += _compare(f"{path}[{name}]", expected[name], actual[name], bindings)
    found += [_missing(f"{path}[{name}]", expected[name]) for name in expected if name not in actual]
    found += [_extra(f"{path}[{name}]", actual[name]) for name in actual if name not in expected]
    return found


def _names(items: list[Any]) -> list[str] | None:
    """The names by which the items of a list are known, if all have one and no two the same."""
    names = [_name(item) for item in items]
    return [name for name in names if name] if all(names) and len(set(names)) == len(names) else None


def _name(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    for key in ("name", "resource", "subresource", "groupVersion"):
        if isinstance(item.get(key), str):
            return "" if TOKEN.search(item[key]) else str(item[key])
    metadata = item.get("metadata") or (item.get("object") or {}).get("metadata", {})
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    return "" if TOKEN.search(name) else f"{metadata.get('namespace', '')}/{name}"


def _settled(value: Any) -> Any:
    """A value without managedFields, with causes in one order."""
    if isinstance(value, list):
        return [_settled(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _settled(item) for key, item in value.items() if key != "managedFields"}
    for key in UNORDERED & kept.keys():
        kept[key] = sorted(kept[key], key=repr)
    details = kept.get("details")
    if kept.get("kind") == "Status" and isinstance(details, dict) and details.get("causes"):
        return _settled_status(kept, details)
    return kept


def _settled_status(status: Map, details: Map) -> Map:
    causes = details["causes"]
    parts = [f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in causes]
    listed = f"[{', '.join(parts)}]"
    message = status["message"].replace(listed, f"[{', '.join(sorted(parts))}]")
    return {**status, "message": message, "details": {**details, "causes": sorted(causes, key=str)}}


def _missing(path: str, value: Any) -> Difference:
    return Difference(path, f"missing, recorded {_short(value)}")


def _extra(path: str, value: Any) -> Difference:
    return Difference(path, f"not recorded, ours {_short(value)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}..."
