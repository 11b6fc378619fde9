"""Requests and limits: names, amounts, and how the two must fit together.

The same rules serve containers, overhead and the pod level; which names are allowed differs. Most containers ask
for cpu, memory and storage only, so those are known by heart.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import (
    NOT_FOUND,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    quoted,
    required,
)
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.api.status import MAX_CAUSES
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.scope import Errors
from flexlet.core.resources.names import COMPUTE, HUGEPAGES_PREFIX, is_hugepages, is_pod_level
from flexlet.errors import InputError

MAX_LISTED: Final = 100
"""Names of resource claims that an error about an unknown one lists."""
NEGATIVE: Final = "must be greater than or equal to 0"
_POD_LEVEL_NAMES: Final = ("cpu", HUGEPAGES_PREFIX, "memory")
_COUNTED: Final = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
_STANDARD: Final = _COUNTED | {
    *("cpu", "memory", "ephemeral-storage", "storage", "requests.storage"),
    *("requests.cpu", "requests.memory", "requests.ephemeral-storage"),
    *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
}
_OF_CONTAINERS: Final = frozenset({"cpu", "memory", "ephemeral-storage"})

NameCheck = Callable[[str, str], list[FieldError]]


def amounts(texts: Mapping[str, str] | None) -> ResourceList:
    """A stored resource list as quantities."""
    return {name: Quantity.parse(text) for name, text in texts.items()} if texts else {}


def validate_container_requirements(
    resources: Object | None, path: str, claims: Iterable[str], errors: Errors
) -> None:
    """The resources of a container."""
    if resources:
        _validate_requirements(resources, path, container_name_errors, claims, errors)


def validate_pod_requirements(resources: Object, path: str, claims: Iterable[str], errors: Errors) -> None:
    """The resources of the pod as a whole, by themselves."""
    _validate_requirements(resources, path, pod_level_name_errors, claims, errors)


def validate_overhead(overhead: Object, path: str, errors: Errors) -> None:
    """What a runtime class adds; upstream reads it as limits."""
    _validate_requirements({"limits": overhead}, path, container_name_errors, (), errors)


def _validate_requirements(
    resources: Object, path: str, name_errors: NameCheck, claims: Iterable[str], errors: Errors
) -> None:
    limits, requests = amounts(resources.get("limits")), amounts(resources.get("requests"))
    unusual = [name for name in (*limits, *requests) if name not in _OF_CONTAINERS]
    checked = unusual or name_errors is pod_level_name_errors
    for name, amount in limits.items():
        if checked or amount.nano < 0:
            _validate_amount(name, amount, f"{path}.limits[{name}]", name_errors, errors)
            _validate_pages(name, amount, f"{path}.limits[{name}]", errors)
    for name, amount in requests.items():
        if checked or amount.nano < 0:
            _validate_amount(name, amount, f"{path}.requests[{name}]", name_errors, errors)
        _validate_pair(name, amount, limits.get(name), path, errors)
        if checked:
            _validate_pages(name, amount, f"{path}.requests[{name}]", errors)
    if any(map(is_hugepages, unusual)) and not any(name in limits or name in requests for name in COMPUTE):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if claimed := resources.get("claims"):
        _validate_claims(claimed, frozenset(claims), f"{path}.claims", errors)


def _validate_amount(name: str, amount: Quantity, path: str, name_errors: NameCheck, errors: Errors) -> None:
    errors += name_errors(name, path)
    if amount.nano < 0:
        errors.append(invalid(path, amount, NEGATIVE))
    if amount.milli % 1000 and _is_counted(name):
        errors.append(invalid(path, amount, "must be an integer"))


def _validate_pages(name: str, amount: Quantity, path: str, errors: Errors) -> None:
    if is_hugepages(name) and not is_whole_pages(name, amount):
        errors.append(invalid(path, amount, f"{amount} is not positive integer multiple of {name}"))


def _validate_pair(name: str, request: Quantity, limit: Quantity | None, path: str, errors: Errors) -> None:
    """A request may not exceed its limit; where overcommitment makes no sense, both are the same."""
    overcommit = name in _OF_CONTAINERS or (is_native(name) and not is_hugepages(name))
    if limit is None:
        if not overcommit:
            errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    elif not overcommit and request != limit:
        errors.append(invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}"))
    elif request.nano > limit.nano:
        text = f"must be less than or equal to {name} limit of {limit}"
        errors.append(invalid(f"{path}.requests", request, text))


def _is_counted(name: str) -> bool:
    return name in _COUNTED or is_extended(name)


def is_native(name: str) -> bool:
    """Whether the name belongs to Kubernetes itself."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether the name is a device or the like, counted in whole units."""
    return (
        not is_native(name) and not name.startswith("requests.") and not names.qualified_name(f"requests.{name}")
    )


def is_whole_pages(name: str, amount: Quantity) -> bool:
    """Whether an amount of huge pages is a multiple of the page size in its name."""
    try:
        size = Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX))
    except InputError:
        return False
    return size.nano > 0 and size.milli % 1000 == 0 and amount.value % size.value == 0


def _is_standard(name: str) -> bool:
    return name in _STANDARD or is_hugepages(name) or name.startswith("requests.hugepages-")


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    """Complaints about the name of a compute resource."""
    if complaints := names.qualified_name(name):
        return [invalid(path, name, text) for text in complaints]
    if "/" not in name and not _is_standard(name):
        return [invalid(path, name, "must be a standard resource type or fully qualified")]
    return []


def container_name_errors(name: str, path: str) -> list[FieldError]:
    """Complaints about the name of a resource that a container asks for."""
    errors = resource_name_errors(name, path)
    if "/" not in name:
        if name not in _OF_CONTAINERS and not is_hugepages(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def pod_level_name_errors(name: str, path: str) -> list[FieldError]:
    """Complaints about the name of a resource at pod level."""
    if errors := resource_name_errors(name, path):
        return errors
    return [] if is_pod_level(name) else [not_supported(path, name, _POD_LEVEL_NAMES)]


def _validate_claims(claimed: list[Object], known: frozenset[str], path: str, errors: Errors) -> None:
    """References to the pod's resource claims: known, and none twice."""
    seen: set[str] = set()
    counted: Counter[str] = Counter()
    others = ""
    for i, claim in enumerate(claimed):
        name, field = claim.get("name") or "", f"{path}[{i}]"
        if not name:
            errors.append(required(field))
            continue
        if name in seen:
            errors.append(duplicate(field, name))
        else:
            _validate_claim_request(claim, field, seen, counted, errors)
        if name not in known:
            others = others or _listed(known)
            errors.append(_unknown_claim(field, name, others if len(errors) < MAX_CAUSES else ""))


def _validate_claim_request(
    claim: Object, path: str, seen: set[str], counted: Counter[str], errors: Errors
) -> None:
    """`seen` has what was referred to, `counted` how much of each claim that is."""
    name, request = claim["name"], claim.get("request") or ""
    if request:
        errors += [invalid(f"{path}.request", request, text) for text in names.dns1123_label(request)]
    key = f"{name}/{request}" if request else name
    if key in seen:
        errors.append(duplicate(path, key))
    elif not request:
        errors += [duplicate(path, name)] * counted[name]
    if key not in seen:
        seen.add(key)
        counted[key.partition("/")[0]] += 1


def _listed(known: frozenset[str]) -> str:
    unsaid = [f"and {len(known) - MAX_LISTED} more"] if len(known) > MAX_LISTED else []
    listed = [*heapq.nsmallest(MAX_LISTED, known), *unsaid]
    return f": {', '.join(listed)}" if known else " which is empty"


def _unknown_claim(path: str, name: str, others: str) -> FieldError:
    """Without the known names where nobody is told any more: thousands of such lists would fill the memory."""
    detail = f": must be one of the names in pod.spec.resourceClaims{others}" if others else ""
    return FieldError(path, NOT_FOUND, f"Not found: {quoted(name)}{detail}")
