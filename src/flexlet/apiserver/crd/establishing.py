"""Which names a definition gets, and what its status says about it.

Plurals, singulars and short names of a group must be different from those of its other definitions, and so must
kinds and list kinds; who comes first keeps a name. Follows ``controller/{status,establish}``.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from flexlet.api import gotext
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.conditions import is_true, status_of

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
ESTABLISHED: Final = ("True", "InitialNamesAccepted", "the initial names have been accepted")
_SINGLE: Final = (("plural", "Plural"), ("singular", "Singular"), ("kind", "Kind"), ("listKind", "ListKind"))


def is_served(crd: Object) -> bool:
    """Whether requests for its resources are answered."""
    return is_true(crd, "NamesAccepted") or is_true(crd, "Established")


def established(crd: Object, others: Iterable[Object], now: str) -> Object | None:
    """The status with names and conditions brought up to date; None if it says that already."""
    state = crd["status"]
    if _same_names(crd["spec"]["names"], state.get("acceptedNames") or {}):
        if is_true(crd, "Established") or not is_true(crd, "NamesAccepted"):
            return None
        return with_condition(state, "Established", ESTABLISHED, now)
    names, condition = _negotiated(crd, others)
    result = with_condition({**state, "acceptedNames": names}, "NamesAccepted", condition, now)
    if not is_true(crd, "Established"):
        verdict = ESTABLISHED if condition[0] == "True" else ("False", "NotAccepted", "not all names are accepted")
        result = with_condition(result, "Established", verdict, now)
    return None if result == state else result


def _same_names(wanted: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    return {key: value for key, value in wanted.items() if value} == {
        key: value for key, value in accepted.items() if value
    }


def _negotiated(crd: Object, others: Iterable[Object]) -> tuple[Object, tuple[str, str, str]]:
    """The names it gets, and NamesAccepted; of several conflicts the last is told."""
    wanted, names = crd["spec"]["names"], dict(crd["status"].get("acceptedNames") or {})
    resources, kinds = _taken(others)
    condition = ("True", "NoConflicts", "no conflicts found")
    for field, title in _SINGLE[:2]:
        condition = _claim(names, wanted, field, title, resources) or condition
    condition = _claim_short_names(names, wanted, resources) or condition
    for field, title in _SINGLE[2:]:
        condition = _claim(names, wanted, field, title, kinds) or condition
    _take_list(names, wanted, "categories")
    return names, condition


def _take_list(names: Object, wanted: Mapping[str, Any], field: str) -> None:
    names.pop(field, None)
    if wanted.get(field):
        names[field] = wanted[field]


def _taken(others: Iterable[Object]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = other["status"].get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def _claim(
    names: Object, wanted: Mapping[str, Any], field: str, title: str, taken: set[str]
) -> tuple[str, str, str] | None:
    name = wanted.get(field, "")
    if name != names.get(field, "") and name in taken:
        return ("False", f"{title}Conflict", _in_use([name]))
    names[field] = name
    return None


def _claim_short_names(names: Object, wanted: Mapping[str, Any], taken: set[str]) -> tuple[str, str, str] | None:
    own = set(names.get("shortNames") or ())
    lost = [name for name in wanted.get("shortNames") or () if name not in own and name in taken]
    if lost:
        return ("False", "ShortNamesConflict", _in_use(lost))
    _take_list(names, wanted, "shortNames")
    return None


def _in_use(names: list[str]) -> str:
    texts = [f"{gotext.quote(name)} is already in use" for name in dict.fromkeys(names)]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def with_condition(state: Object, kind: str, condition: tuple[str, str, str], now: str) -> Object:
    """A copy of a status with a condition in it; the time changes only with the condition's status."""
    status, reason, message = condition
    conditions = list(state.get("conditions") or ())
    place = next((index for index, entry in enumerate(conditions) if entry.get("type") == kind), len(conditions))
    since = now
    if status_of({"status": state}, kind) == status:
        since = conditions[place].get("lastTransitionTime", now)
    entry = {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
    conditions[place : place + 1] = [entry]
    return {**state, "conditions": conditions}


def start_termination(crd: Object, now: str) -> bool:
    """Mark a definition as on its way out, in place: its objects go first. False if it is already."""
    metadata = crd["metadata"]
    if "deletionTimestamp" in metadata:
        return False
    metadata["deletionTimestamp"] = now
    if FINALIZER not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), FINALIZER]
    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    crd["status"] = with_condition(crd["status"], "Terminating", ("True", "InstanceDeletionPending", text), now)
    return True
