"""Taints of nodes: keys and values like labels, one of three effects, unique by key and effect."""

from collections.abc import Iterable
from typing import Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import DUPLICATE, FieldError
from flexlet.apiserver.contract.kind import Object

EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_taints(taints: Iterable[Object], field: str) -> list[FieldError]:
    """What is wrong with a node's taints."""
    seen: set[tuple[str, str]] = set()
    errors = []
    for index, taint in enumerate(taints):
        errors += _check_taint(taint, f"{field}[{index}]")
        identity = taint.get("key", ""), taint.get("effect", "")
        if identity in seen:
            errors.append(_repeated(taint, f"{field}[{index}]"))
        seen.add(identity)
    return errors


def _check_taint(taint: Object, field: str) -> list[FieldError]:
    key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
    errors = [fielderrors.invalid(f"{field}.key", key, complaint) for complaint in names.label_key(key)]
    if complaints := names.label_value(value):
        errors.append(fielderrors.invalid(f"{field}.value", value, ";".join(complaints)))
    if not effect:
        errors.append(fielderrors.required(f"{field}.effect"))
    elif effect not in EFFECTS:
        errors.append(fielderrors.not_supported(f"{field}.effect", effect, EFFECTS))
    return errors


def _repeated(taint: Object, field: str) -> FieldError:
    shown = {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }
    text = "taints must be unique by key and effect pair"
    return FieldError(field, DUPLICATE, f"Duplicate value: {fielderrors.quoted(shown)}: {text}")
