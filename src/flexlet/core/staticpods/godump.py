"""A pod printed as Go prints its internal form in memory: every field with its type, whether it is set or not.

The kubelet makes the uid of a static pod from that text, so it must be the same to the letter. The types are
those of Kubernetes 1.36.3 (`api.schema.internal`).

Two objects are printed together: `full` has the defaults, `given` is what the file says. What the file says
decides where Go tells apart what JSON does not: an empty list and none, and the ways to write an amount.

Not the same are: a time that is given, which Go prints with the time zone of its machine; a pod-level request that
defaulting has added up to a round number; and a status.
"""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import quantity
from flexlet.api.schema.internal import pod_types
from flexlet.core.staticpods import goquantity

NIL: Final = "<nil>"
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_NUMBERS: Final = frozenset({"int", "int32", "int64", "uint8"})


def pod(full: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The text of a pod that has its defaults."""
    return f"(*core.Pod){_struct('core.Pod', _internal(full), _internal(given))}"


def _internal(body: Mapping[str, Any]) -> dict[str, Any]:
    """Without its kind, which Go drops, and with the host's namespaces in the security context."""
    spec = body.get("spec") or {}
    context = dict(spec.get("securityContext") or {})
    context.update({name: spec[name] for name in _HOST_FIELDS if name in spec})
    rest = {name: value for name, value in body.items() if name not in {"kind", "apiVersion", "status"}}
    return {**rest, "spec": {**spec, "securityContext": context}}


def _struct(kind: str, full: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    parts = []
    for go, name, of in pod_types()[kind]:
        both = (full.get(name), given.get(name)) if name else (full, given)
        if kind == "core.ResourceRequirements" and name == "requests":
            parts.append(f"{go}:{_typed(of, *_requests(full, given))}")
        else:
            parts.append(f"{go}:{_typed(of, *both)}")
    return f"{{{' '.join(parts)}}}"


def _requests(full: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Any, Any]:
    """What is not asked for but limited is asked for as it is limited, in the same words."""
    limits, requests = given.get("limits"), given.get("requests")
    if limits is None:
        return full.get("requests"), requests
    asked = full.get("requests") or {}
    copied = {name: each for name, each in limits.items() if name in asked and _is(each, asked[name])}
    return asked, {**copied, **(requests or {})}


def _is(written: Any, amount: str) -> bool:
    return quantity.parse(goquantity.text_of(written)).rounded_up_to_milli() == quantity.parse(amount)


def _typed(kind: str, full: Any, given: Any) -> str:
    """A field: its type and its value."""
    if kind.startswith("*"):
        return f"({kind}){NIL if full is None else _value(kind[1:], full, given)}"
    return f"({kind}){_value(kind, full, given)}"


def _value(kind: str, full: Any, given: Any) -> str:
    if kind == "resource.Quantity":
        return _quantity(given, rounded=False)
    if kind == "intstr.IntOrString":
        return _int_or_string(full)
    if kind == "v1.Time":
        return _TIME
    if kind == "core.ResourceList":
        return _amounts(full, given)
    if kind.startswith("[]"):
        return _list(kind[2:], full, given)
    if kind.startswith("map["):
        return _map(full, given)
    if kind in pod_types():
        return _struct(kind, full or {}, given if isinstance(given, dict) else {})
    return _scalar(kind, full)


def _scalar(kind: str, value: Any) -> str:
    if kind == "bool":
        return "true" if value else "false"
    if kind in _NUMBERS:
        return str(value or 0)
    return "" if value is None else str(value)


def _list(kind: str, full: Any, given: Any) -> str:
    if not full:
        return NIL if given is None else "[]"
    sources = given if isinstance(given, list) else []
    padded = [*sources, *[None] * (len(full) - len(sources))]
    return f"[{' '.join(_value(kind, *both) for both in zip(full, padded, strict=False))}]"


def _map(full: Any, given: Any) -> str:
    if not full:
        return NIL if given is None else "map[]"
    return f"map[{' '.join(f'{key}:{full[key]}' for key in sorted(full, key=str.encode))}]"


def _amounts(full: Any, given: Any) -> str:
    if not full:
        return NIL if given is None else "map[]"
    known = given if isinstance(given, dict) else {}
    names = sorted(full, key=str.encode)
    return f"map[{' '.join(f'{name}:{_amount(name, full, known)}' for name in names)}]"


def _amount(name: str, full: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What the file does not say was added up, and is in nobody's words."""
    if name in given:
        return _quantity(given[name], rounded=True)
    return goquantity.dumped(goquantity.text_of(full[name]), rounded=True, keeps_text=False)


def _quantity(value: Any, *, rounded: bool) -> str:
    return goquantity.NOTHING if value is None else goquantity.dumped(goquantity.text_of(value), rounded=rounded)


def _int_or_string(value: Any) -> str:
    is_text = isinstance(value, str)
    number, text = (0, value) if is_text else (value or 0, "")
    return f"{{Type:(intstr.Type){int(is_text)} IntVal:(int32){number} StrVal:(string){text}}}"
