"""Values against a compiled schema: types, limits, enumerations, required fields, alternatives.

The order and the texts are those of kube-openapi's ``validation/validate``, whose validator runs all checks that
apply to a value and goes on after a finding. On an update `old` is the value that stands there now: what is wrong
with a value that did not change is forgiven (`ratchet`).
"""

import math
from collections.abc import Callable
from typing import Any, Final

from flexlet.api import gotext, regexps
from flexlet.api.fielderrors import NOT_SUPPORTED, TYPE_INVALID, FieldError
from flexlet.api.regexps import PatternTooCostly
from flexlet.apiserver.crd import numbers, ratchet
from flexlet.apiserver.crd.findings import Finding, Result, field_errors, remark
from flexlet.apiserver.crd.formats import has_format
from flexlet.apiserver.crd.node import Limits, Node
from flexlet.apiserver.crd.ratchet import NOTHING

TYPES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
_GO_FORMATS: Final = {int: "int64", float: "float64"}


def check(node: Node, value: Any, old: Any = NOTHING, prefix: str = "") -> list[FieldError]:
    """What is wrong with a value, or with changing `old` into it."""
    result = validate(node, value, "", old)
    return field_errors(result.findings, prefix)


def validate(node: Node, value: Any, path: str, old: Any) -> Result:
    """Check a value that may stand in place of an old one, which forgives what did not change."""
    result = _validate(node, value, path, old)
    if result.findings and old is not NOTHING and ratchet.unchanged(node, value, old):
        result.findings.clear()
    return result


def _validate(node: Node, value: Any, path: str, old: Any) -> Result:
    result = Result()
    if value is None:
        result.held += _check_type(node, value, path, result)
        _check_enum(node, value, path, result)
        return result
    if node.types or node.format:
        result.held += 1 + _check_type(node, value, path, result)
    # Enumerations and alternatives are always asked, and the whole counts once more.
    result.held += 4
    if node.logical:
        _check_logic(node, value, path, old, result)
    inspect = _BY_TYPE.get(type(value))
    if inspect is not None:
        inspect(node, value, path, old, result)
    if node.enum:
        _check_enum(node, value, path, result)
    if type(value) is dict:
        _check_object(node, value, path, old, result)
        result.held += 1
    return result


def _check_type(node: Node, value: Any, path: str, result: Result) -> bool:
    kind = TYPES[type(value)]
    if value is None:
        return not node.types or node.nullable or _wrong_type(path, ",".join(node.types), "null", result)
    types, matches = node.types, _matches(node.types, kind, value)
    structured = kind in {"string", "array"}
    if node.format and not structured and not matches:
        return _wrong_type(path, node.format, _GO_FORMATS.get(type(value), ""), result)
    if node.format and structured and "integer" not in types and "number" not in types:
        return True  # the format itself is checked apart
    return matches or _wrong_type(path, ",".join(types), kind, result)


def _matches(types: tuple[str, ...], kind: str, value: Any) -> bool:
    if kind in types:
        return True
    if kind == "integer":
        return "number" in types
    return kind == "number" and "integer" in types and numbers.is_whole(value)


def _wrong_type(path: str, wanted: str, found: str, result: Result) -> bool:
    text = f"{path} in body must be of type {wanted}: {gotext.quote(found)}"
    result.add(Finding(path, text, TYPE_INVALID, found))
    return False


def _check_enum(node: Node, value: Any, path: str, result: Result) -> None:
    if not node.enum or (value is not None and any(_equal(value, allowed) for allowed in node.enum)):
        return
    text = f"{path} in body should be one of {gotext.sprint(list(node.enum))}"
    result.add(Finding(path, text, NOT_SUPPORTED, value, node.enum))


def _equal(value: Any, allowed: Any) -> bool:
    if isinstance(value, bool) or isinstance(allowed, bool):
        return value is allowed
    if isinstance(value, float) and isinstance(allowed, int):
        return math.trunc(value) == allowed  # upstream converts to the allowed value's type
    return ratchet.same(value, allowed) or (isinstance(value, int) and bool(value == allowed))


def _check_string(node: Node, value: str, path: str, _old: Any, result: Result) -> None:
    result.held += 1
    finding = _text_finding(node, value, path)
    if finding is not None:
        result.add(finding)
    if node.format:
        result.held += 1
        if not has_format(node.format, value):
            text = f"{path} in body must be of type {node.format}: {gotext.quote(value)}"
            result.add(Finding(path, text, TYPE_INVALID, value))


def _text_finding(node: Node, value: str, path: str) -> Finding | None:
    limits = node.limits or _NO_LIMITS
    if limits.max_length is not None and len(value) > limits.max_length:
        text = f"{path} in body should be at most {limits.max_length} chars long"
        return Finding(path, text, "length", value, limits.max_length)
    if limits.min_length is not None and len(value) < limits.min_length:
        return Finding(path, f"{path} in body should be at least {limits.min_length} chars long", value=value)
    try:
        if node.matcher is not None and not node.matcher.search(value):
            return Finding(path, f"{path} in body should match '{node.pattern}'", value=value)
    except PatternTooCostly as fault:
        return Finding(path, f"{path} in body: {fault.message}", value=regexps.shown(value))
    return None


def _check_number(node: Node, value: float, path: str, _old: Any, result: Result) -> None:
    result.held += 2
    for finding in numbers.check(node, value, path):
        result.add(finding)


def _check_array(node: Node, value: list[Any], path: str, old: Any, result: Result) -> None:
    result.held += 2
    if node.items is not None:
        correlated = ratchet.Items(node, old)
        for index, item in enumerate(value):
            held = node.items.quick.get(type(item))
            if held is None:
                result.merge(validate(node.items, item, f"{path}[{index}]", correlated.of(item)))
            else:
                result.held += held
    limits = node.limits
    if limits is None:
        return
    if limits.min_items is not None and len(value) < limits.min_items:
        result.add(
            Finding(path, f"{path} in body should have at least {limits.min_items} items", value=len(value))
        )
    if limits.max_items is not None and len(value) > limits.max_items:
        text = f"{path} in body should have at most {limits.max_items} items"
        result.add(Finding(path, text, "count", len(value), limits.max_items))
    if limits.unique_items and any(
        ratchet.same(item, other) for i, item in enumerate(value) for other in value[:i]
    ):
        result.add(Finding(path, f"{path} in body shouldn't contain duplicates"))


def _check_object(node: Node, value: dict[str, Any], path: str, old: Any, result: Result) -> None:
    if node.limits is not None:
        _check_size(node.limits, len(value), path, result)
    before = old if type(old) is dict else {}
    for name, item in value.items():
        below = node.properties.get(name)
        if below is not None:
            held = below.quick.get(type(item))
            if held is not None:
                result.held += held
                continue
            result.merge(validate(below, item, f"{path}.{name}" if path else name, before.get(name, NOTHING)))
        elif node.additional is not None:
            result.merge(validate(node.additional, item, f"{path}.{name}", before.get(name, NOTHING)))
        elif node.closed:
            result.add(Finding(path, f"{path}.{name} in body is a forbidden property", value=name))
    for name in node.required:
        if name not in value:
            result.add(Finding(f"{path}.{name}", f"{path}.{name} in body is required", "required"))


def _check_size(limits: Limits, size: int, path: str, result: Result) -> None:
    if limits.min_properties is not None and size < limits.min_properties:
        result.add(
            Finding(path, f"{path} in body should have at least {limits.min_properties} properties", value=size)
        )
    if limits.max_properties is not None and size > limits.max_properties:
        text = f"{path} in body should have at most {limits.max_properties} properties"
        result.add(Finding(path, text, "count", size, limits.max_properties))


def _check_logic(node: Node, value: Any, path: str, old: Any, result: Result) -> None:
    quoted = gotext.quote(path)
    if node.any_of:
        _check_any(node.any_of, value, path, old, result)
    if node.one_of:
        _check_one(node.one_of, value, path, old, result)
    if node.all_of:
        found = [_validate(part, value, path, old) for part in node.all_of]
        for part in found:
            result.merge(part)
        held = sum(not part.findings for part in found)
        if held < len(found):
            result.add(
                remark(f"{quoted} must validate all the schemas (allOf){'' if held else '. None validated'}")
            )
    if node.negated is not None and not _validate(node.negated, value, path, old).findings:
        result.add(remark(f"{quoted} must not validate the schema (not)"))


def _check_any(parts: tuple[Node, ...], value: Any, path: str, old: Any, result: Result) -> None:
    best: Result | None = None
    for part in parts:
        found = _validate(part, value, path, old)
        if not found.findings:
            result.merge(found)
            return
        if best is None or found.held > best.held:
            best = found
    result.add(remark(f"{gotext.quote(path)} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _check_one(parts: tuple[Node, ...], value: Any, path: str, old: Any, result: Result) -> None:
    found = [_validate(part, value, path, old) for part in parts]
    valid = [part for part in found if not part.findings]
    if len(valid) == 1:
        result.merge(valid[0])
        return
    text = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(remark(f"{gotext.quote(path)} must validate one and only one schema (oneOf). {text}"))
    if not valid:
        result.merge(max(found, key=lambda part: part.held))


_NO_LIMITS: Final = Limits()
_BY_TYPE: Final[dict[type, Callable[[Node, Any, str, Any, Result], None]]] = {
    str: _check_string,
    int: _check_number,
    float: _check_number,
    list: _check_array,
}
