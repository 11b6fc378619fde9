"""The rules of a schema asked about an object, with upstream's paths, texts and forgiveness.

A rule stands at a place of the schema and sees what stands there (``self``) and, on an update, what stood there
(``oldSelf``); one that speaks of the old value is asked only if there is one. What is broken where nothing changed
is a warning. Follows ``apiserver/schema/cel/validation.go``; costs are not counted as upstream counts them, but
loops are cut off.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.cel.compiler import Compiled
from flexlet.apiserver.crd.cel.paths import normalized
from flexlet.apiserver.crd.cel.scope import RULE_STEPS, Budget, Scope
from flexlet.apiserver.crd.cel.syntax import Unsupported, WrongExpression
from flexlet.apiserver.crd.cel.values import NO_OVERLOAD, CelError, Optional, of_schema
from flexlet.apiserver.crd.findings import NOWHERE, duplicate, invalid
from flexlet.apiserver.crd.node import Node, Rule
from flexlet.apiserver.crd.ratchet import NOTHING, Items, unchanged

MAX_MESSAGE: Final = 5 * 1024
OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class Outcome(msgspec.Struct, frozen=True):
    """What rules found: errors, and warnings of what is broken but was not touched."""

    errors: list[FieldError]
    warnings: list[str]
    budget: Budget = msgspec.field(default_factory=Budget)


class _Prepared(msgspec.Struct, frozen=True):
    """A rule that can be asked."""

    rule: Rule
    program: Compiled
    message: Compiled | None
    path: str


class _Place(msgspec.Struct, frozen=True):
    """A place of the schema with rules at it or below it."""

    node: Node
    rules: tuple[_Prepared, ...]
    properties: Mapping[str, "_Place"]
    additional: "_Place | None"
    items: "_Place | None"
    all_of: tuple["_Place", ...]


class _Trace(msgspec.Struct, frozen=True):
    """Where an update stands: the place itself, and the nearest one above, each with its value and old value."""

    here: tuple[Node, Any, Any] | None = None
    above: tuple[Node, Any, Any] | None = None

    def below(self, node: Node | None, value: Any, old: Any) -> "_Trace":
        """A place inside this one."""
        if self.here is None:
            return self
        return _Trace(None if node is None or old is NOTHING else (node, value, old), self.here)

    def is_unchanged(self) -> bool:
        """Whether nothing was touched here."""
        place = self.here or self.above
        return place is not None and unchanged(*place)


class Rules:
    """All rules of a schema, compiled."""

    def __init__(self, root: Node) -> None:
        self._root = _place(root, root)

    def check(self, obj: Object, old: Object | None) -> Outcome:
        """What the rules say about an object, or about changing `old` into it."""
        outcome = Outcome([], [])
        before = NOTHING if old is None else old
        trace = _Trace() if old is None else _Trace(here=(self._root.node, obj, old))
        _walk(self._root, obj, before, "", trace, outcome)
        return outcome

    def check_value(self, value: Any, path: str) -> list[FieldError]:
        """What the rules say about a value that stays as it is, or is new; nothing is forgiven."""
        outcome = Outcome([], [])
        for old in (value, NOTHING):
            if not outcome.errors:
                _walk(self._root, value, old, path, _Trace(), outcome)
        return outcome.errors


def _place(node: Node, skeleton: Node) -> _Place:
    inner = {name: below for name, below in node.properties.items() if name in skeleton.properties}
    return _Place(
        skeleton,
        tuple(_prepared(rule, skeleton) for rule in node.rules if _is_evaluated(rule)),
        {name: _place(below, skeleton.properties[name]) for name, below in inner.items() if _speaks(below)},
        _inner(node.additional, skeleton.additional),
        _inner(node.items, skeleton.items),
        tuple(_place(part, skeleton) for part in node.all_of if _speaks(part)),
    )


def _inner(node: Node | None, skeleton: Node | None) -> _Place | None:
    return _place(node, skeleton) if node is not None and skeleton is not None and _speaks(node) else None


def _speaks(node: Node) -> bool:
    return node.has_rules or any(_speaks(part) for part in node.all_of)


def _is_evaluated(rule: Rule) -> bool:
    try:
        return bool(rule.rule.strip()) and bool(Compiled(rule.rule))
    except (Unsupported, WrongExpression):
        return False


def _prepared(rule: Rule, node: Node) -> _Prepared:
    try:
        message = Compiled(rule.message_expression) if rule.message_expression.strip() else None
    except (Unsupported, WrongExpression):
        message = None
    return _Prepared(rule, Compiled(rule.rule), message, normalized(rule.field_path, node))


def _walk(place: _Place, value: Any, old: Any, path: str, trace: _Trace, outcome: Outcome) -> None:
    if value is None:
        return
    if place.rules:
        _ask(place, value, old, path, trace, outcome)
    for part in place.all_of:
        _walk(part, value, old, path, _Trace(above=trace.above), outcome)
    if isinstance(value, dict):
        _walk_object(place, value, old, path, trace, outcome)
    elif isinstance(value, list) and place.items is not None:
        before = Items(place.node, old)
        for index, item in enumerate(value):
            found = before.of(item)
            _walk(
                place.items,
                item,
                found,
                f"{path}[{index}]",
                trace.below(place.node.items, item, found),
                outcome,
            )


def _walk_object(place: _Place, value: Object, old: Any, path: str, trace: _Trace, outcome: Outcome) -> None:
    before = old if isinstance(old, dict) else {}
    for name, item in value.items():
        found = before.get(name, NOTHING)
        inner = place.properties.get(name)
        step = trace.below(place.node.below(name), item, found)
        if inner is not None:
            _walk(inner, item, found, f"{path}.{name}" if path else name, step, outcome)
        elif place.additional is not None and name not in place.node.properties:
            _walk(place.additional, item, found, f"{path}[{name}]", step, outcome)


def _ask(place: _Place, value: Any, old: Any, path: str, trace: _Trace, outcome: Outcome) -> None:
    kind = place.node.types[0] if len(place.node.types) == 1 else ""
    field = path or NOWHERE
    try:
        me = of_schema(value, place.node)
        before = Optional() if old is NOTHING or old is None else Optional(of_schema(old, place.node), True)
    except CelError as fault:
        outcome.errors.append(invalid(field, kind, str(fault)))
        return
    for prepared in place.rules:
        rule = prepared.rule
        if prepared.program.uses_old and not before.present and not rule.optional_old_self:
            continue
        if outcome.budget.is_spent():
            return
        variables = {"self": me, "oldSelf": before if rule.optional_old_self else before.value}
        scope = Scope(variables, outcome.budget)
        try:
            scope.spend(RULE_STEPS)
            held = prepared.program.evaluate(scope)
        except CelError as fault:
            detail = OUT_OF_BUDGET if outcome.budget.is_spent() else _failure(str(fault), rule)
            outcome.errors.append(invalid(field, kind, detail))
            continue
        if held is True:
            continue
        error = _broken(prepared, variables, value, kind, path, outcome.budget)
        if not prepared.program.uses_old and trace.is_unchanged():
            outcome.warnings.append(str(error))
        else:
            outcome.errors.append(error)


def _failure(fault: str, rule: Rule) -> str:
    shown = (rule.message or rule.rule).strip()
    if fault.startswith(NO_OVERLOAD):
        text = "call arguments did not match a supported operator, function or macro signature"
        return f"'{fault}': {text} for rule: {shown}"
    if fault.startswith("operation cancelled"):
        return (
            f"'{fault}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
        )
    return f"{fault} evaluating rule: {shown}"


def _broken(
    prepared: _Prepared, variables: dict[str, Any], value: Any, kind: str, path: str, budget: Budget
) -> FieldError:
    rule = prepared.rule
    field = ".".join(part for part in (path, prepared.path) if part) or NOWHERE
    detail = _message(prepared, variables, budget) or rule.message.strip() or f"failed rule: {rule.rule.strip()}"
    if rule.reason == fielderrors.FORBIDDEN:
        return fielderrors.forbidden(field, detail)
    if rule.reason == fielderrors.REQUIRED:
        return fielderrors.required(field, detail)
    hidden = kind in {"object", "array"}
    if rule.reason == fielderrors.DUPLICATE:
        return FieldError(field, fielderrors.DUPLICATE, "Duplicate value") if hidden else duplicate(field, value)
    if hidden:
        return FieldError(field, fielderrors.INVALID, f"Invalid value: {detail}")
    return invalid(field, value, detail)


def _message(prepared: _Prepared, variables: dict[str, Any], budget: Budget) -> str:
    """What the rule's own message expression says; nothing if it fails."""
    if prepared.message is None:
        return ""
    try:
        text = prepared.message.evaluate(Scope(variables, budget))
    except CelError:
        return ""
    if not isinstance(text, str):
        return ""
    trimmed = text.strip()
    return "" if "\n" in trimmed or len(trimmed.encode()) > MAX_MESSAGE else trimmed
