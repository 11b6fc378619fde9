"""Node selectors and node affinity: terms are or-ed, the expressions inside a term are and-ed."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from flexlet.api.node import Node
from flexlet.api.pod import PodSpec

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def matches(spec: PodSpec, node: Node) -> bool:
    """Whether the node satisfies nodeSelector and the required node affinity."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = _node_affinity(spec).get(_REQUIRED)
    if required is None:
        return True
    return any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def preference(spec: PodSpec, node: Node) -> int:
    """The summed weight of the preferred terms the node satisfies."""
    preferred = _node_affinity(spec).get(_PREFERRED) or ()
    return sum(int(item["weight"]) for item in preferred if _term_matches(item.get("preference") or {}, node))


def _node_affinity(spec: PodSpec) -> Mapping[str, Any]:
    return (spec.affinity or {}).get("nodeAffinity") or {}


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    own_fields = {"metadata.name": node.metadata.name}
    return all(_holds(e, node.metadata.labels) for e in expressions) and all(_holds(e, own_fields) for e in fields)


def _holds(expression: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    test = _OPERATORS.get(expression.get("operator", ""))
    return test is not None and test(values.get(expression["key"]), expression.get("values") or [])


def _compared(value: str | None, bounds: list[str], sign: int) -> bool:
    """Gt and Lt compare whole numbers; anything else does not match."""
    try:
        return value is not None and len(bounds) == 1 and (int(value) - int(bounds[0])) * sign > 0
    except ValueError:
        return False


_OPERATORS: Final[Mapping[str, Callable[[str | None, list[str]], bool]]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, values: _compared(value, values, 1),
    "Lt": lambda value, values: _compared(value, values, -1),
}
