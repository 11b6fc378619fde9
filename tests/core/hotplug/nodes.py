"""The node of node-resize.md §7 and its pods, in the notation of tables."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml
from tests import pods

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Container, Pod, PodStatus
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.cgroups.settings import LIMITED_SWAP, CgroupSettings
from flexlet.core.critical import SOURCE_ANNOTATION
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.settling import Situation
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.machine import Cgroups, Cpu, Identity, Machine, NumaNode
from flexlet.core.managers.resync import Resynced
from flexlet.core.managers.state import Managers
from flexlet.core.node.settings import NodeSettings

SETTINGS = NodeSettings(
    name="node-1",
    reservation=Reservation(
        kube=pods.amounts("500m,512Mi"),
        system=pods.amounts("500m,512Mi"),
        eviction_hard={"memory.available": "100Mi"},
    ),
)
SWAPPING = CgroupSettings(memory_swap_behavior=LIMITED_SWAP)
BOTH = ResizeSettings(plug=True, unplug=True)


def table(name: str) -> Any:
    """A data file beside this one."""
    return yaml.safe_load((Path(__file__).parent / name).read_text())


def size(text: str) -> Bytes:
    """``8Gi`` in bytes."""
    return Bytes(Quantity.parse(text).value)


def machine(cpus: int | Iterable[int | Cpu] = 4, memory: str = "8Gi", swap: str = "4Gi", **more: Any) -> Machine:
    """One thread per core unless told, one NUMA node."""
    ids = range(cpus) if isinstance(cpus, int) else cpus
    plain = {each: Cpu(each, core=each, socket=0, numa=0, cache=0) for each in ids if isinstance(each, int)}
    fields: dict[str, Any] = {
        "cpus": tuple(plain[each] if isinstance(each, int) else each for each in ids),
        "memory": size(memory),
        "swap": size(swap),
        "numa": (NumaNode(id=0, memory=size(memory)),),
        "identity": Identity(boot_id="boot-1"),
        "cgroups": Cgroups(unified=True, swap=True),
    }
    return Machine(**(fields | more))


def generation(number: int = 1, **fields: Any) -> Generation:
    """A generation of such a machine."""
    return Generation(number=number, machine=machine(**fields))


def tenant(
    name: str,
    requests: str = "",
    limits: str = "",
    *,
    age: int = 0,
    static: bool = False,
    balloon: bool = False,
    qos: str | None = None,
    priority: int = 0,
    leaving: bool = False,
    grace_s: int | None = None,
    containers: tuple[Container, ...] = (),
) -> Tenant:
    """A pod with one container ``c`` that runs; smaller `age` is older, the name is also the uid."""
    name_of_class = "flexlet-balloon" if balloon else ""
    given = containers or (pods.container("c", requests, limits),)
    made = pods.pod(*given, priority=priority, priority_class=name_of_class)
    meta = ObjectMeta(
        name=name,
        namespace="default",
        uid=name,
        creation_timestamp=f"2026-01-01T00:00:{age:02}Z",
        labels={"flexlet.io/balloon": "true"} if balloon else {},
        annotations={SOURCE_ANNOTATION: "file"} if static else {},
    )
    spec = msgspec.structs.replace(made.spec, termination_grace_period_seconds=grace_s)
    status = PodStatus() if qos is None else PodStatus(qos_class=qos)
    whole = Pod(metadata=meta, spec=spec, status=status)
    return Tenant(
        pod=whole, leaving=leaving, running={each.name: f"{name}-{each.name}" for each in spec.containers}
    )


def unmanaged(managers: Managers, *_: object) -> Resynced:
    """Managers that manage nothing."""
    return Resynced(managers=managers)


def situation(*tenants: Tenant, resize: ResizeSettings = BOTH, **more: Any) -> Situation:
    """The node of §7 without managers."""
    fields: dict[str, Any] = {"node": SETTINGS, "cgroups": SWAPPING, "resync": unmanaged}
    return Situation(tenants=tenants, resize=resize, **(fields | more))
