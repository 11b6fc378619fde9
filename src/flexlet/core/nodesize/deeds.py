"""What a look at a node ends in, and the deeds that are done to balloons."""

import msgspec

from flexlet.core.actions import ApiAction, DeleteObject, PatchObject
from flexlet.core.nodesize import manifest, names, report
from flexlet.core.nodesize.claims import Findings
from flexlet.core.nodesize.hardware import Deed
from flexlet.core.nodesize.objects import NodeSizeStatus
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sights import Balloon
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.refs import NODES, PODS


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for one node; `resizes` are its resize requests, `deed` is for the hypervisor end."""

    actions: tuple[ApiAction, ...] = ()
    resizes: tuple[ApiAction, ...] = ()
    status: NodeSizeStatus
    wake_at: float | None = None
    deed: Deed | None = None


def said(scene: Scene, found: Findings, now: float) -> Outcome:
    """Nothing is done; the status says why."""
    return Outcome(status=report.status(scene, found, now))


def enrol(scene: Scene, shape: str) -> list[ApiAction]:
    """Let the DaemonSet of a shape give the node a balloon."""
    wanted = {names.LABEL: "enabled", names.SHAPE_LABEL: shape}
    if all(scene.node.labels.get(key) == text for key, text in wanted.items()):
        return []
    return [_label(scene, dict(wanted))]


def dismiss(scene: Scene, balloon: Balloon) -> ApiAction:
    """The end of a balloon: one of a DaemonSet would come back unless its node is no longer chosen."""
    if scene.settings.management == "DaemonSet" and names.LABEL in scene.node.labels:
        return _label(scene, {names.LABEL: None, names.SHAPE_LABEL: None})
    return delete(scene, balloon)


def _label(scene: Scene, labels: dict[str, str | None]) -> PatchObject:
    body = {"metadata": {"labels": labels}}
    return PatchObject(ref=NODES, name=scene.node.name, patch=body, on_behalf_of=scene.node.name)


def resize(scene: Scene, balloon: Balloon, amounts: Amounts) -> PatchObject:
    """Ask for another size."""
    return PatchObject(
        ref=PODS,
        namespace=balloon.namespace,
        name=balloon.name,
        patch=manifest.resize_patch(balloon.shape, amounts, balloon.resource_version, balloon.uid),
        kind="strategic",
        subresource="resize",
        on_behalf_of=scene.node.name,
    )


def delete(scene: Scene, balloon: Balloon) -> DeleteObject:
    """Do without it."""
    return DeleteObject(
        ref=PODS,
        namespace=balloon.namespace,
        name=balloon.name,
        uid=balloon.uid,
        grace_seconds=0,
        on_behalf_of=scene.node.name,
    )
