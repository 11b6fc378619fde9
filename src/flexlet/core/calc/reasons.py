"""Why a total or a class is what it is: the sentences behind `flexlet.core.calc.origins`.

They are found by looking at a defaulted pod the way the rules do; no figure is computed a second time by other
means. One short sentence each, lower case, so that a table can hold them.
"""

from collections.abc import Iterator

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import ZERO
from flexlet.core.resources import effective
from flexlet.core.resources.names import COMPUTE
from flexlet.core.resources.qos import BEST_EFFORT, GUARANTEED


def qos(pod: Pod, qos_class: str) -> str:
    """Why the pod is of its class."""
    if pod.spec.resources is not None:
        return _qos_at_pod_level(pod.spec.resources, qos_class)
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    if qos_class == BEST_EFFORT:
        return "no container names cpu or memory"
    if qos_class == GUARANTEED:
        return "requests equal limits for cpu and memory in every container"
    return next(_container_gaps(containers))


def _qos_at_pod_level(resources: ResourceRequirements, qos_class: str) -> str:
    if qos_class == BEST_EFFORT:
        return "spec.resources is there but names neither cpu nor memory; containers do not count then"
    if qos_class == GUARANTEED:
        return "requests equal limits for cpu and memory at pod level"
    return f"at pod level {next(_gaps(resources))}; containers do not count"


def _container_gaps(containers: tuple[Container, ...]) -> Iterator[str]:
    for container in containers:
        for gap in _gaps(container.resources):
            yield f"in container {container.name} {gap}"


def _gaps(resources: ResourceRequirements) -> Iterator[str]:
    for name in COMPUTE:
        request, limit = resources.requests.get(name, ZERO), resources.limits.get(name, ZERO)
        if not limit:
            yield f"{name} has no limit"
        elif request != limit:
            yield f"{name} request {request} is not its limit {limit}"


def request(name: str, pod: Pod) -> str:
    """Where the effective request of one resource comes from."""
    lists = [c.resources.requests for c in pod.spec.containers]
    init = [(c.is_sidecar, c.resources.requests) for c in pod.spec.init_containers]
    level = pod.spec.resources.requests if pod.spec.resources is not None else None
    return _total(name, pod, lists, init, level) + _overhead(name, pod)


def limit(name: str, pod: Pod) -> str:
    """Where the effective limit of one resource comes from, or why there is none."""
    lists = [c.resources.limits for c in pod.spec.containers]
    init = [(c.is_sidecar, c.resources.limits) for c in pod.spec.init_containers]
    level = pod.spec.resources.limits if pod.spec.resources is not None else None
    text = _total(name, pod, lists, init, level)
    return text + (_overhead(name, pod) if effective.pod_limits(pod, overhead=False).get(name) else "")


def _total(
    name: str,
    pod: Pod,
    lists: list[ResourceList],
    init: list[tuple[bool, ResourceList]],
    level: ResourceList | None,
) -> str:
    if level is not None and name in level:
        aggregated = effective.aggregate(lists, init).get(name)
        return f"pod level; containers sum up to {aggregated}" if aggregated is not None else "pod level"
    rest = "pod level not set" if level is None else "not named at pod level"
    return f"{_largest_moment(name, pod, lists, init)}; {rest}"


def _largest_moment(name: str, pod: Pod, lists: list[ResourceList], init: list[tuple[bool, ResourceList]]) -> str:
    """The containers that run at the pod's most demanding moment."""
    together = effective.aggregate([*lists, *(amounts for is_sidecar, amounts in init if is_sidecar)], ())
    sidecars = [c.name for c in pod.spec.init_containers if c.is_sidecar]
    best, words = together.get(name), _sum_words(len(pod.spec.containers), len(sidecars))
    for container, moment in zip(pod.spec.init_containers, effective.init_moments(init), strict=True):
        amount = moment.get(name)
        if amount is not None and (best is None or amount > best):
            best, words = amount, _init_words(container, pod)
    return words if best is not None else "no container names it"


def _sum_words(containers: int, sidecars: int) -> str:
    if sidecars:
        return "sum of containers and sidecars"
    return "sum of containers" if containers > 1 else "the only container"


def _init_words(container: Container, pod: Pod) -> str:
    before = pod.spec.init_containers[: pod.spec.init_containers.index(container)]
    sidecars = [c.name for c in before if c.is_sidecar]
    beside = f" beside sidecars {', '.join(sidecars)}" if sidecars else ""
    return f"init container {container.name}{beside}"


def _overhead(name: str, pod: Pod) -> str:
    amount = pod.spec.overhead.get(name)
    return f"; plus overhead {amount}" if amount else ""
