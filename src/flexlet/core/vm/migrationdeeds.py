"""What is done to pods and written about moves of machines."""

from collections.abc import Iterator
from typing import Any

from flexlet.api import age
from flexlet.core.actions import ApiAction, DeleteObject, PatchObject
from flexlet.core.refs import PODS
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVMMigration
from flexlet.core.vm.scene import Scene
from flexlet.core.vm.sights import LauncherPod


def queued(move: FlexVMMigration, first: FlexVMMigration) -> Iterator[ApiAction]:
    """One that has to wait for another."""
    if not move.status.phase:
        message = f"waits for FlexVMMigration {first.metadata.name}"
        yield status(move, {"phase": "Pending", "message": message})


def adopted(scene: Scene, pod: LauncherPod) -> PatchObject:
    """The label that makes a pod a target is taken off."""
    body = {"metadata": {"labels": {names.MIGRATION_LABEL: None}, "uid": pod.uid}}
    return PatchObject(ref=PODS, namespace=pod.namespace, name=pod.name, patch=body, on_behalf_of=scene.key)


def removed(scene: Scene, pod: LauncherPod) -> DeleteObject:
    """A pod goes, with the grace period of its machine."""
    return DeleteObject(ref=PODS, namespace=pod.namespace, name=pod.name, uid=pod.uid, on_behalf_of=scene.key)


def ended(
    move: FlexVMMigration, phase: str, message: str, now: float, figures: dict[str, Any] | None = None
) -> PatchObject:
    """The last word about a move."""
    stamp = age.format_micro(now)
    return status(move, {"phase": phase, "message": message, "finishedAt": stamp, **(figures or {})})


def status(move: FlexVMMigration, change: dict[str, Any]) -> PatchObject:
    """How far a move is."""
    meta = move.metadata
    return PatchObject(
        ref=names.MIGRATIONS,
        namespace=meta.namespace,
        name=meta.name,
        patch={"status": change},
        subresource="status",
        on_behalf_of=f"{meta.namespace}/{move.spec.vm_name}",
    )


def moment(text: str) -> float:
    """Seconds since the epoch of a stamp."""
    return age.parse(text).timestamp() if text else 0.0
