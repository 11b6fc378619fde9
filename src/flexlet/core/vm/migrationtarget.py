"""The pod that a machine moves to, and the address where it waits."""

import zlib
from typing import Any, Final

import msgspec

from flexlet.core.actions import CreateObject
from flexlet.core.refs import PODS
from flexlet.core.vm import aim, manifest, names
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.guest import Machine
from flexlet.core.vm.objects import FlexVMMigration
from flexlet.core.vm.podsize import need
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod

FIRST_PORT: Final = 49152
PORTS: Final = 4096
_SUFFIX: Final = 8


def name(scene: Scene, move: FlexVMMigration) -> str:
    """Of the pod: always the same for one move, so that it is made once."""
    return manifest.name_of(scene.vm.metadata.name, _suffix(move))


def create(scene: Scene, move: FlexVMMigration, source: LauncherPod, machine: Machine) -> CreateObject:
    """A launcher that waits, big enough for what the guest has and for what is wanted of it."""
    size = _room(scene)
    body = manifest.launcher_pod(
        scene.vm,
        scene.wanted,
        _waiting(scene, machine),
        need(scene.wanted, size.vcpus, size.memory, scene.settings, scene.correction),
        scene.settings,
        overhead=scene.overhead(size),
        suffix=_suffix(move),
        labels={names.MIGRATION_LABEL: move.metadata.uid},
    )
    body["spec"]["affinity"] = _elsewhere(source.node, move.spec.node_name)
    return CreateObject(ref=PODS, namespace=scene.vm.metadata.namespace, body=body, on_behalf_of=scene.key)


def address(move: FlexVMMigration, target: LauncherPod) -> str:
    """Where the target waits, as the source is told it; another port for each move, and so no mix-up."""
    host = f"[{target.address}]" if ":" in target.address else target.address
    return f"tcp:{host}:{_port(move)}"


def listening(move: FlexVMMigration, target: LauncherPod) -> str:
    """The same as the target is told it."""
    return f"tcp:{'[::]' if ':' in target.address else '0.0.0.0'}:{_port(move)}"  # noqa: S104 - in its pod


def _port(move: FlexVMMigration) -> int:
    return FIRST_PORT + zlib.crc32(move.metadata.uid.encode()) % PORTS


def _suffix(move: FlexVMMigration) -> str:
    return f"{zlib.crc32(move.metadata.uid.encode()):08x}"[:_SUFFIX]


def _room(scene: Scene) -> Sizes:
    """T, and never less than the guest has or may take."""
    goal, has = aim.target(scene), scene.reach
    return Sizes(max(goal.vcpus, has.vcpus), max(goal.memory, has.memory))


def _waiting(scene: Scene, machine: Machine) -> Machine:
    """The same machine as the source is now: devices must match, what is wanted is plugged afterwards."""
    has = scene.reach
    sockets = max(1, has.vcpus // (machine.cores * machine.threads))
    memory = min(max(has.memory, machine.min_memory), machine.max_memory)
    return msgspec.structs.replace(machine, sockets=sockets, memory=memory, incoming=True)


def _elsewhere(source: str, wanted: str) -> dict[str, Any]:
    """On the node that was named, or on any but this one."""
    operator, node = ("In", wanted) if wanted else ("NotIn", source)
    fields = [{"key": "metadata.name", "operator": operator, "values": [node]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
