"""The resources that a pod's status reports: what is configured now.

The kernel keeps less than it is told (weights, pages, whole percents). Where the value read is just the rounding
of what was asked, the status says what was asked: first what is allocated, then what was actuated last, else the
value itself. So a finished resize reports exactly the spec, and one under way the old size. (Kubernetes 1.36.3
reports 79m for a pod's 100m, and never refreshes a pod's memory request; 1.37 does as here.)

Must stay true: a list that has no entries is left out, and a running container always has ``resources``, if only
``{}``: clients take its absence for a node that cannot resize.
"""

from collections.abc import Callable
from typing import Any, Final

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.cgroups import cpu, pods
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.gates import Gates
from flexlet.core.resize import targets
from flexlet.core.resize.allocation import DEFAULT_GATES, POD_LEVEL, Allocation, applied
from flexlet.core.resize.podcgroup import HOST, UNLIMITED, Kernel, PodCgroup, written
from flexlet.core.resources.effective import pod_limits, pod_requests
from flexlet.core.resources.names import COMPUTE, CPU, MEMORY
from flexlet.core.resources.rounding import text_list, text_requirements

_LEAST_CPU_LIMIT: Final = 10


def container_resources(
    pod: Pod,
    container: Container,
    runtime: RuntimeResources | None,
    actuated: ResourceRequirements | None,
    previous: ResourceRequirements | None = None,
) -> ResourceRequirements:
    """What a running container has.

    `pod` and `container` are as allocated, `runtime` is what the runtime reports, `previous` what was reported
    before for this very instance. Only lists that the container itself has are shown; in them inherited limits
    appear too.
    """
    known, before = actuated or targets.EMPTY, previous or targets.EMPTY
    read = known if runtime is None else _runtime_view(runtime, targets.target(pod, container), known)
    return ResourceRequirements(
        requests=_overlaid(container.resources.requests, read.requests, before.requests, cpu.MIN_SHARES),
        limits=_overlaid(container.resources.limits, read.limits, before.limits, _LEAST_CPU_LIMIT),
    )


def pod_resources(
    pod: Pod,
    actuated: Allocation | None,
    cgroup: PodCgroup | None,
    previous: ResourceRequirements | None = None,
    *,
    settings: CgroupSettings = DEFAULTS,
    kernel: Kernel = HOST,
    exclusive_cpus: bool = False,
) -> ResourceRequirements:
    """What the pod as a whole has; `pod` is as allocated, and until it runs that is the answer."""
    asked = _effective(pod)
    if pod.status.phase != "Running":
        return asked
    if cgroup is None:
        return previous or asked
    views = [pod] if actuated is None else [pod, applied(pod, actuated)]
    found = [
        (
            written(cgroup, pods.pod_cgroup(view, settings, exclusive_cpus=exclusive_cpus), kernel),
            _effective(view),
        )
        for view in views
    ]
    before = previous or targets.EMPTY
    requests = {**asked.requests, CPU: _cpu_request(cgroup, found)}
    limits = {
        **asked.limits,
        CPU: _cpu_limit(cgroup, found, before.limits.get(CPU)),
        MEMORY: _memory_limit(cgroup, found, before.limits.get(MEMORY)),
    }
    return ResourceRequirements(requests=_present(requests), limits=_present(limits))


def recovered(known: ResourceRequirements, runtime: RuntimeResources) -> ResourceRequirements:
    """What a container really has, if a call that changed it may have been carried out without being recorded.

    In the words of what is known, as far as they are true. What the runtime does not tell is taken as known.
    """
    read = _runtime_view(runtime, known, known)
    request = {CPU: read.requests[CPU]} if CPU in known.requests and CPU in read.requests else {}
    found = ResourceRequirements(requests=known.requests | request, limits=known.limits | read.limits)
    return known if found == known else found


def container_fields(container: Container, resources: ResourceRequirements | None) -> dict[str, Any]:
    """The resource fields of a container status; `resources` is None for one that does not run."""
    shown = container.resources if resources is None else resources
    fields: dict[str, Any] = {"resources": text_requirements(shown)}
    if container.resources.requests:
        fields["allocatedResources"] = text_list(container.resources.requests)
    return fields


def pod_fields(pod: Pod, resources: ResourceRequirements, gates: Gates = DEFAULT_GATES) -> dict[str, Any]:
    """The resource fields of a pod status, none at all without the gate; `pod` is as allocated."""
    if not gates[POD_LEVEL]:
        return {}
    fields: dict[str, Any] = {"resources": text_requirements(resources)}
    if allocated := pod_requests(pod):
        fields["allocatedResources"] = text_list(allocated)
    return fields


Views = list[tuple[PodCgroup, ResourceRequirements]]
"""How the cgroup would read for what is allocated and what was actuated, and what each of them asks for."""


def _cpu_request(cgroup: PodCgroup, views: Views) -> Quantity | None:
    for read, asked in views:
        if read.weight == cgroup.weight:
            return asked.requests.get(CPU)
    return Quantity.of_milli(cpu.milli_of_shares(cpu.shares_of_weight(cgroup.weight)))


def _cpu_limit(cgroup: PodCgroup, views: Views, previous: Quantity | None) -> Quantity | None:
    for read, asked in views:
        if read.quota == cgroup.quota:
            return asked.limits.get(CPU)
    if cgroup.quota == UNLIMITED:
        return previous
    return Quantity.of_milli(cpu.milli_of_quota(cgroup.quota, cgroup.period))


def _memory_limit(cgroup: PodCgroup, views: Views, previous: Quantity | None) -> Quantity | None:
    for read, asked in views:
        if read.memory_max == cgroup.memory_max:
            return asked.limits.get(MEMORY)
    return previous if cgroup.memory_max == UNLIMITED else Quantity.of_bytes(cgroup.memory_max)


def _effective(pod: Pod) -> ResourceRequirements:
    return ResourceRequirements(requests=pod_requests(pod), limits=pod_limits(pod))


def _present(amounts: dict[str, Quantity | None]) -> ResourceList:
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _runtime_view(
    runtime: RuntimeResources, asked: ResourceRequirements, known: ResourceRequirements
) -> ResourceRequirements:
    """What the runtime reports, in the words of what was asked; a memory request is no value of the kernel."""
    requests = {
        CPU: _spoken(
            cpu.milli_of_shares(runtime.cpu_shares),
            Quantity.of_milli,
            (asked.requests.get(CPU), known.requests.get(CPU)),
            lambda amount: cpu.shares(amount.milli) == runtime.cpu_shares,
        ),
        MEMORY: known.requests.get(MEMORY),
    }
    quota, period = runtime.cpu_quota, runtime.cpu_period
    limits = {
        CPU: _spoken(
            cpu.milli_of_quota(quota, period) if quota > 0 and period > 0 else 0,
            Quantity.of_milli,
            (asked.limits.get(CPU), known.limits.get(CPU)),
            lambda amount: quota in _quotas(amount, period),
        ),
        MEMORY: _spoken(
            runtime.memory_limit,
            Quantity.of_bytes,
            (asked.limits.get(MEMORY), known.limits.get(MEMORY)),
            lambda amount: amount.value == runtime.memory_limit,
        ),
    }
    return ResourceRequirements(requests=_present(requests), limits=_present(limits))


def _spoken(
    value: int,
    plain: Callable[[int], Quantity],
    words: tuple[Quantity | None, ...],
    means_it: Callable[[Quantity], bool],
) -> Quantity | None:
    """The first of the words that the value is the rounding of, else the value; None if there is no value."""
    if not value:
        return None
    return next((word for word in words if word is not None and means_it(word)), plain(value))


def _quotas(amount: Quantity, period: int) -> tuple[int, int]:
    exact = cpu.quota(amount.milli, period)
    return exact, cpu.systemd_quota(exact, period)


def _overlaid(own: ResourceList, read: ResourceList, previous: ResourceList, least: int) -> ResourceList:
    """The container's own list with cpu and memory as read, else as reported before; an empty list stays empty.

    Who asks for `least` milli cpu or nothing has what the kernel calls its least, and is told what was asked.
    """
    if not own:
        return {}
    found = {name: read.get(name) or previous.get(name) for name in COMPUTE}
    if read.get(CPU, ZERO).milli <= least and own.get(CPU, ZERO).milli <= least and CPU in read:
        del found[CPU]
    return own | {name: amount for name, amount in found.items() if amount}
