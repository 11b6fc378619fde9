"""What there is to measure on a node: the cgroups of its pods, and the machine."""

from collections.abc import Iterable
from typing import Protocol

from flexlet.core.agent.containers import sandbox, volumes
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.paths import pod_path, tier_path
from flexlet.core.machine.machine import Machine
from flexlet.core.resources.qos import GUARANTEED, recorded_qos_class
from flexlet.core.runtime.shown import Container, RuntimePod
from flexlet.core.stats.readings import NodeReading
from flexlet.core.stats.sources import ContainerSource, MachineFacts, NodeSource, PodSource, VolumeSource

BRIEF = "brief"
"""CPU, memory and processes only."""
FULL = "full"
"""File systems too."""
_NOTHING = RuntimePod("")


class Gauge(Protocol):
    """Whoever measures."""

    async def measure(self, source: NodeSource, depth: str = FULL) -> NodeReading:
        """A reading now."""
        ...


def source(world: World, machine: Machine, records: Iterable[PodRecord] = ()) -> NodeSource:
    """The node, and those of the pods that have a sandbox."""
    return NodeSource(
        name=world.setup.name,
        pods=tuple(_pod_source(each, world) for each in records if _shown(each).sandboxes),
        machine=_machine_facts(machine),
        pods_cgroup=tier_path(GUARANTEED, world.setup.driver),
        data_directory=world.setup.root,
    )


def _shown(record: PodRecord) -> RuntimePod:
    return record.shown or _NOTHING


def _pod_source(record: PodRecord, world: World) -> PodSource:
    meta, shown, setup = record.pod.metadata, _shown(record), world.setup
    path = pod_path(recorded_qos_class(record.pod), record.pod_uid, setup.driver)
    pod = sandbox.as_allocated(record, setup)
    return PodSource(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        cgroup=path,
        started_at=shown.sandboxes[0].created_at / 1e9,
        host_network=record.pod.spec.host_network,
        containers=tuple(_container_source(run, path) for run in shown.running),
        volumes=tuple(
            VolumeSource(
                name=each.name, path=volumes.path_of(pod, each.name, setup), is_ephemeral=each.host_path is None
            )
            for each in pod.spec.volumes
            if each.image is None
        ),
    )


def _container_source(run: Container, pod_cgroup: str) -> ContainerSource:
    return ContainerSource(
        name=run.name,
        id=run.id,
        cgroup=f"{pod_cgroup}/{run.id}",
        image=run.image,
        started_at=run.started_at / 1e9,
        log_directory=run.log_path.rpartition("/")[0],
    )


def _machine_facts(machine: Machine) -> MachineFacts:
    who = machine.identity
    return MachineFacts(
        cpus=len(machine.cpus),
        memory_bytes=machine.memory,
        swap_bytes=machine.swap,
        machine_id=who.machine_id,
        system_uuid=who.system_uuid,
        boot_id=who.boot_id,
        kernel_version=who.kernel,
        os_image=who.os_image,
    )
