"""Whether a pod stays within a LimitRange.

Containers are judged one by one; type Pod looks at the pod's total, where pod-level cpu and memory replace the
sum of the containers. Only the spec counts, without overhead. Findings are texts in upstream's words.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api.limitrange import LimitRange, LimitRangeItem
from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import MAX_INT64, ZERO, Quantity
from flexlet.core.resources.effective import aggregate_limits, aggregate_requests
from flexlet.core.resources.names import COMPUTE

MAX_MILLI_VALUE: Final = MAX_INT64 // 1000


def violations(limit_range: LimitRange, pod: Pod, *, pod_level: bool = True) -> list[str]:
    """Everything about the pod that the range forbids, in order of the range's entries."""
    found: list[str] = []
    for item in limit_range.spec.limits:
        for requests, limits in _subjects(item.type, pod, pod_level):
            found.extend(_check(item, requests, limits))
    return found


def _subjects(kind: str, pod: Pod, pod_level: bool) -> Iterator[tuple[ResourceList, ResourceList]]:
    if kind == "Container":
        for container in (*pod.spec.containers, *pod.spec.init_containers):
            yield container.resources.requests, container.resources.limits
    elif kind == "Pod":
        yield _totals(pod, pod_level)


def _totals(pod: Pod, pod_level: bool) -> tuple[ResourceList, ResourceList]:
    requests, limits = aggregate_requests(pod), aggregate_limits(pod)
    if pod_level and pod.spec.resources is not None:
        requests.update(_compute(pod.spec.resources.requests))
        limits.update(_compute(pod.spec.resources.limits))
    return requests, limits


def _compute(amounts: ResourceList) -> ResourceList:
    return {name: amount for name, amount in amounts.items() if name in COMPUTE}


def _check(item: LimitRangeItem, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    for name, bound in sorted(item.min.items()):
        if problem := _below(bound, requests.get(name), limits.get(name)):
            yield f"minimum {name} usage per {item.type} is {bound}{problem}"
    for name, bound in sorted(item.max.items()):
        if problem := _above(bound, requests.get(name), limits.get(name)):
            yield f"maximum {name} usage per {item.type} is {bound}{problem}"
    for name, bound in sorted(item.max_limit_request_ratio.items()):
        if problem := _too_far_apart(bound, requests.get(name), limits.get(name)):
            yield f"{name} max limit to request ratio per {item.type} is {bound}, but {problem}"


def _below(bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    asked, allowed, least = _comparable(request, limit, bound)
    if request is None:
        return ".  No request is specified"
    if asked < least:
        return f", but request is {request}"
    return f", but limit is {limit}" if limit is not None and allowed < least else ""


def _above(bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    asked, allowed, most = _comparable(request, limit, bound)
    if limit is None:
        return ".  No limit is specified"
    if allowed > most:
        return f", but limit is {limit}"
    return f", but request is {request}" if request is not None and asked > most else ""


def _too_far_apart(bound: Quantity, request: Quantity | None, limit: Quantity | None) -> str:
    asked, allowed, _ = _comparable(request, limit, bound)
    if not asked:
        return "no request is specified or request is 0"
    if not allowed:
        return "no limit is specified or limit is 0"
    ratio = allowed / asked
    too_far = ratio * 1000 > bound.milli if bound.value <= MAX_MILLI_VALUE else ratio > bound.value
    return f"provided ratio is {ratio:.6f}" if too_far else ""


def _comparable(request: Quantity | None, limit: Quantity | None, bound: Quantity) -> tuple[int, int, int]:
    """All three in thousandths, or in whole units where thousandths would not fit into 64 bits."""
    request, limit = request or ZERO, limit or ZERO
    if max(request.value, limit.value, bound.value) <= MAX_MILLI_VALUE:
        return request.milli, limit.milli, bound.milli
    return request.value, limit.value, bound.value
