"""What the containers of one pod ask of the managers, taken from the pod as it was allocated.

Only Guaranteed pods get anything of their own: whole CPUs if a container asks for a whole number of them, and NUMA
memory. Everybody else shares. So do pods with resources of their own (``spec.resources``): how those would be cut
up among containers is a feature that Kubernetes 1.36 has off. So do balloons: CPUs and NUMA memory of their own
would be lost to everybody, and no resize could give them back.
"""

from typing import Literal

import msgspec

from flexlet.api.pod import Container, Pod, ResourceList
from flexlet.api.quantity import NANO
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.resources.effective import has_pod_level_resources
from flexlet.core.resources.names import CPU, MEMORY, is_hugepages
from flexlet.core.resources.qos import GUARANTEED, recorded_qos_class

Kind = Literal["init", "sidecar", "container"]


class ContainerClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One container: how many CPUs for itself alone (0: it shares), and bytes of each kind of memory."""

    name: str
    kind: Kind = "container"
    cpus: int = 0
    memory: dict[str, int] = {}
    fractional: bool = False
    """Whether it asks for a fraction of a byte (``1500m``), which the memory manager refuses."""


class PodClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One pod: its containers in the order in which they start."""

    uid: str
    containers: tuple[ContainerClaim, ...] = ()
    created: str = ""
    """When, as the API writes it; older pods are served first."""


def claim(pod: Pod) -> PodClaim:
    """The claim of a pod whose resources are those that were allocated to it."""
    own = recorded_qos_class(pod) == GUARANTEED and not has_pod_level_resources(pod) and not is_balloon(pod)
    first = tuple(
        _claim(each, "sidecar" if each.is_sidecar else "init", own=own) for each in pod.spec.init_containers
    )
    then = tuple(_claim(each, "container", own=own) for each in pod.spec.containers)
    created = pod.metadata.creation_timestamp or ""
    return PodClaim(uid=pod.metadata.uid, containers=(*first, *then), created=created)


def _claim(container: Container, kind: Kind, *, own: bool) -> ContainerClaim:
    requests = container.resources.requests if own else {}
    memory = {name: amount for name, amount in requests.items() if name == MEMORY or is_hugepages(name)}
    return ContainerClaim(
        name=container.name,
        kind=kind,
        cpus=_cpus(requests),
        memory={name: amount.value for name, amount in memory.items()},
        fractional=any(amount.nano % NANO for amount in memory.values()),
    )


def _cpus(requests: ResourceList) -> int:
    amount = requests.get(CPU)
    return 0 if amount is None or amount.milli % 1000 else amount.milli // 1000
