"""What a container shall have and what it was last given, in comparable form.

Both are requests and limits in which a limit inherited from the pod level stands among the container's own, as in
the checkpoint. They are compared by the integers that reach the kernel, so `1` and `1000m` are no change.
"""

import msgspec

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.core.cgroups.containers import effective_limit
from flexlet.core.resize.allocation import NOTHING, Allocation
from flexlet.core.resources.amounts import as_integer
from flexlet.core.resources.names import COMPUTE

EMPTY = ResourceRequirements()


def target(pod: Pod, container: Container) -> ResourceRequirements:
    """The container's own resources, with the limits it inherits."""
    inherited = {name: limit for name in COMPUTE if (limit := effective_limit(pod, container, name))}
    return ResourceRequirements(
        requests=container.resources.requests, limits={**container.resources.limits, **inherited}
    )


def current(
    actuated: Allocation, container: Container, level: ResourceRequirements | None
) -> ResourceRequirements:
    """What the container was last given; without a record of its own limit the pod level's counts.

    A container that was never recorded was given no cpu and memory, as far as anybody knows.
    """
    entry = actuated.containers.get(container.name, fixed(container.resources))
    missing = {name: limit for name, limit in (level or EMPTY).limits.items() if name in COMPUTE}
    own = {name: limit for name, limit in entry.limits.items() if limit or name not in missing}
    return ResourceRequirements(requests=entry.requests, limits={**missing, **own})


def created(actuated: Allocation | None, pod: Pod, container: Container) -> Allocation:
    """The record once a container is about to be created with what is allocated (`pod` carries it)."""
    before = actuated or NOTHING
    return msgspec.structs.replace(
        before, containers={**before.containers, container.name: target(pod, container)}
    )


def cgroup_created(actuated: Allocation | None, pod: Pod) -> Allocation:
    """The record once the pod's cgroup is made of what is allocated."""
    return msgspec.structs.replace(actuated or NOTHING, pod=pod.spec.resources)


def fixed(resources: ResourceRequirements) -> ResourceRequirements:
    """The part that no resize changes."""
    return ResourceRequirements(requests=_fixed(resources.requests), limits=_fixed(resources.limits))


def differs(before: ResourceRequirements, after: ResourceRequirements, name: str) -> bool:
    """Whether request or limit of a resource change."""
    return amount(before.limits, name) != amount(after.limits, name) or amount(before.requests, name) != amount(
        after.requests, name
    )


def shrinks(before: ResourceRequirements, after: ResourceRequirements, name: str) -> bool:
    """The direction of a change: that of the limit if it changes, else of the request.

    No limit counts as zero, so that a limit that is added goes with the increases.
    """
    old, new = amount(before.limits, name), amount(after.limits, name)
    if old != new:
        return new < old
    return amount(after.requests, name) < amount(before.requests, name)


def moved(before: ResourceRequirements, after: ResourceRequirements, name: str) -> ResourceRequirements:
    """`before` with one resource as in `after`."""
    return ResourceRequirements(
        requests=_moved(before.requests, after.requests, name), limits=_moved(before.limits, after.limits, name)
    )


def amount(amounts: ResourceList, name: str) -> int:
    """The integer that counts, zero if absent."""
    return as_integer(name, amounts[name]) if name in amounts else 0


def _moved(before: ResourceList, after: ResourceList, name: str) -> ResourceList:
    kept = {key: value for key, value in before.items() if key != name}
    return kept | ({name: after[name]} if name in after else {})


def _fixed(amounts: ResourceList) -> ResourceList:
    return {name: value for name, value in amounts.items() if name not in COMPUTE}
