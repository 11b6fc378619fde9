"""The deeds that are done to launcher pods and to FlexVMs."""

from collections.abc import Iterator

import msgspec

from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, PatchObject
from flexlet.core.refs import PODS
from flexlet.core.vm import manifest, names
from flexlet.core.vm.amounts import Sizes
from flexlet.core.vm.objects import FlexVM, Resize
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.running import Will
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod
from flexlet.core.vm.step import Step


def hold(vm: FlexVM) -> list[ApiAction]:
    """The finalizer that keeps a FlexVM until its machine has shut down."""
    meta = vm.metadata
    if names.FINALIZER in meta.finalizers:
        return []
    return [_finalizers(vm, [*meta.finalizers, names.FINALIZER])]


def release(vm: FlexVM) -> list[ApiAction]:
    """The end of that."""
    if names.FINALIZER not in vm.metadata.finalizers:
        return []
    return [_finalizers(vm, [name for name in vm.metadata.finalizers if name != names.FINALIZER])]


def _finalizers(vm: FlexVM, wanted: list[str]) -> PatchObject:
    meta = vm.metadata
    body = {"metadata": {"finalizers": wanted or None, "resourceVersion": meta.resource_version}}
    return PatchObject(
        ref=names.FLEX_VMS,
        namespace=meta.namespace,
        name=meta.name,
        patch=body,
        on_behalf_of=f"{meta.namespace}/{meta.name}",
    )


def pods(scene: Scene, will: Will) -> Iterator[ApiAction]:
    """Launcher pods that come and go."""
    if will.deed == "delete":
        for pod in will.pods:
            yield DeleteObject(
                ref=PODS, namespace=pod.namespace, name=pod.name, uid=pod.uid, on_behalf_of=scene.key
            )
    if will.deed == "create" and not scene.complaints:
        yield create(scene)


def create(scene: Scene) -> CreateObject:
    """A launcher for all that is wanted."""
    size = Sizes(scene.wanted.vcpus, scene.wanted.memory)
    body = manifest.launcher_pod(
        scene.vm,
        scene.wanted,
        scene.boot,
        need(scene.wanted, size.vcpus, size.memory, scene.settings, scene.correction),
        scene.settings,
        overhead=scene.overhead(size),
    )
    namespace = scene.vm.metadata.namespace
    return CreateObject(ref=PODS, namespace=namespace, body=body, on_behalf_of=scene.key)


def resize(scene: Scene, pod: LauncherPod, size: Need, resource: str) -> PatchObject:
    """Ask for another size of the pod."""
    return PatchObject(
        ref=PODS,
        namespace=pod.namespace,
        name=pod.name,
        patch=manifest.resize_patch(size, resource_version=pod.resource_version, uid=pod.uid),
        kind="strategic",
        subresource="resize",
        reason=resource,
        on_behalf_of=scene.key,
    )


def note(scene: Scene, pod: LauncherPod, found: Step) -> Iterator[ApiAction]:
    """The overhead as of this size, for whoever reads the annotation; when nothing else is done to the pod."""
    report = scene.report
    if report is None or found.patch is not None or found.resize.phase not in {"Idle", "Done", "Failed"}:
        return
    size = scene.overhead(Sizes(report.vcpus, max(report.memory, report.requested)))
    if size != pod.overhead:
        yield PatchObject(
            ref=PODS,
            namespace=pod.namespace,
            name=pod.name,
            patch={"metadata": {"annotations": {names.OVERHEAD: str(size)}, "uid": pod.uid}},
            on_behalf_of=scene.key,
        )


def rested(scene: Scene) -> Resize | None:
    """The resize of a machine that is off: what was under way is over, the next start has it all."""
    known = scene.vm.status.resize
    if known is None or known.phase in {"Idle", "Done", "Failed"}:
        return known
    return msgspec.structs.replace(known, phase="Idle", message="the machine is off", deferred_at="", setbacks=())
