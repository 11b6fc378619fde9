"""Pods with scheduling gates: until the gates are gone, the choice of nodes may become narrower."""

from flexlet.api.fielderrors import INVALID, FieldError, invalid
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.affinity import REQUIRED
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.internalform import compact
from flexlet.apiserver.kinds.pod.scope import Errors

_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def put_back_node_choice(rest: Object, before: Object, errors: Errors) -> None:
    """Check how node selector and node affinity changed, then make them equal in `rest`."""
    selector, earlier = rest.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if selector != earlier:
        if any(selector.get(key) != value for key, value in earlier.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(invalid("spec.nodeSelector", selector, text))
        rest["nodeSelector"] = before.get("nodeSelector")
    affinity = rest.get("affinity")
    nodes, nodes_before = (part.get("nodeAffinity") for part in (affinity or {}, before.get("affinity") or {}))
    if not same(nodes, nodes_before):
        _validate_narrower(nodes, nodes_before, errors)
        rest["affinity"] = _with_node_affinity(affinity, nodes_before, before.get("affinity"))


def _with_node_affinity(affinity: Object | None, nodes: Object | None, before: Object | None) -> Object | None:
    """The affinity with the earlier node affinity, as if only that part had changed."""
    if affinity is None:
        return None if nodes is None else {"nodeAffinity": nodes}
    if before is None and affinity.get("podAffinity") is None and affinity.get("podAntiAffinity") is None:
        return None
    rest = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    return rest if nodes is None else {**rest, "nodeAffinity": nodes}


def _validate_narrower(nodes: Object | None, before: Object | None, errors: Errors) -> None:
    earlier = _terms(before)
    terms = _terms(nodes)
    if not earlier:
        return
    if len(terms) != len(earlier):
        shown = ",".join(compact(term, "NodeSelectorTerm") for term in terms)
        value = f"[{shown}]" if terms else "null"
        text = f"Invalid value: {value}: no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(FieldError(_TERMS, INVALID, text))
        return
    for i, (term, old) in enumerate(zip(terms, earlier, strict=True)):
        if not _only_adds(term, old):
            shown = compact(term, "NodeSelectorTerm")
            text = f"Invalid value: {shown}: only additions are allowed (no mutations or deletions)"
            errors.append(FieldError(f"{_TERMS}[{i}]", INVALID, text))


def _terms(nodes: Object | None) -> list[Object]:
    return ((nodes or {}).get(REQUIRED) or {}).get("nodeSelectorTerms") or []


def _only_adds(term: Object, old: Object) -> bool:
    """An empty term matches no node, so anything added to it would make the choice wider."""
    parts = [(term.get(key) or [], old.get(key) or []) for key in ("matchExpressions", "matchFields")]
    if not any(earlier for _, earlier in parts):
        return not any(now for now, _ in parts)
    return all(same(now[: len(earlier)], earlier) for now, earlier in parts)
