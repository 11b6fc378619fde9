"""The merge patch that leads from one value to another."""

from typing import Any

import msgspec

from flexlet.api import decode


def between(old: msgspec.Struct, new: msgspec.Struct) -> dict[str, Any]:
    """From one typed object to another; nothing if they say the same."""
    return difference(_plain(old), _plain(new))


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """From one JSON object to another; a key of None takes it away."""
    change: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        was = old.get(key)
        if isinstance(value, dict) and isinstance(was, dict):
            inner = difference(was, value)
            change |= {key: inner} if inner else {}
        elif was != value:
            change[key] = value
    return change


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    """As JSON has it: lists, not tuples."""
    plain: dict[str, Any] = msgspec.json.decode(decode.to_json(value))
    return plain
