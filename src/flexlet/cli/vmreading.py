"""What commands about virtual machines ask a cluster for."""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.status import Forbidden, Invalid, NotFound
from flexlet.cli import reading
from flexlet.core.sizes.node import Event
from flexlet.core.sizes.wish import Outcome
from flexlet.core.vm import guest, names
from flexlet.core.vm.objects import FlexVM
from flexlet.errors import ConfigError
from flexlet.ports.cluster import EVENTS, PODS, Cluster, Ref

FLEX_VMS: Final = Ref(*names.FLEX_VMS)
MIGRATIONS: Final = Ref(*names.MIGRATIONS)
NO_KIND: Final = (
    f"this cluster does not know {names.KIND} ({names.API_VERSION}):"
    " `flexlet print-manifests | kubectl apply -f -` teaches it, and `flexlet controllers` runs the VMs"
)


async def vms(cluster: Cluster, namespace: str) -> list[FlexVM]:
    """The FlexVMs of a namespace, or all; ConfigError where the kind is not known."""
    try:
        return await reading.listed(cluster, FLEX_VMS, FlexVM, namespace)
    except NotFound:
        raise ConfigError(NO_KIND) from None


async def get_vm(cluster: Cluster, namespace: str, name: str) -> FlexVM:
    """A FlexVM; ConfigError names those there are."""
    try:
        return decode.from_json(await cluster.get(FLEX_VMS, namespace, name), FlexVM)
    except NotFound:
        known = sorted(each.metadata.name for each in await vms(cluster, namespace))
        hint = f"there are {', '.join(known)}" if known else "there are no VMs"
        raise ConfigError(f"there is no VM {name} in namespace {namespace}: {hint}") from None


async def patch_vm(cluster: Cluster, namespace: str, name: str, body: dict[str, Any]) -> Outcome | None:
    """Change a FlexVM; the refusal, if the API refuses it."""
    try:
        await cluster.patch(FLEX_VMS, namespace, name, body)
    except (Invalid, Forbidden) as error:
        return reading.refusal(error)
    return None


async def launcher(cluster: Cluster, vm: FlexVM) -> Pod | None:
    """The pod in which a machine runs, None if it runs in none."""
    if vm.status.pod is None or not vm.status.pod.name:
        return None
    try:
        return decode.from_json(await cluster.get(PODS, vm.metadata.namespace, vm.status.pod.name), Pod)
    except NotFound:
        return None


def machine(pod: Pod | None) -> guest.Machine | None:
    """What a launcher has started, None if its pod does not say."""
    text = pod.metadata.annotations.get(names.MACHINE, "") if pod is not None else ""
    try:
        return msgspec.json.decode(text, type=guest.Machine) if text else None
    except msgspec.MsgspecError:
        return None


async def events(cluster: Cluster, vm: FlexVM) -> list[Event]:
    """What was told about a machine and its launcher pod, the oldest first."""
    about = [vm.metadata.name, *([vm.status.pod.name] if vm.status.pod and vm.status.pod.name else [])]
    kinds = {names.KIND, "Pod"}
    found: list[Event] = []
    for name in about:
        told = await reading.listed(
            cluster, EVENTS, Event, vm.metadata.namespace, field_selector=f"involvedObject.name={name}"
        )
        found += [each for each in told if each.involved_object.get("kind") in kinds]
    return sorted(found, key=lambda each: each.at)
