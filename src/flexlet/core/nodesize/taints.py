"""Marks on a node that keep new pods away while its balloon is not what it should be."""

from collections.abc import Collection
from typing import Any

from flexlet.api import age, decode
from flexlet.core.actions import PatchObject
from flexlet.core.nodesize import names
from flexlet.core.nodesize.scene import Scene
from flexlet.core.refs import NODES


def patch(scene: Scene, wanted: Collection[str], now: float) -> PatchObject | None:
    """The write that leaves just these of our taints; lists have no keys, so it is bound to one version.

    The taint of a node that just registered is never put on by us, and ``resizing`` is its own agent's affair, if
    it has one of flexlet's.
    """
    node = scene.node
    mine = {names.PENDING_TAINT, names.MISSING_TAINT}
    if scene.settings.taints_while_resizing and not node.is_native:
        mine.add(names.RESIZING_TAINT)
    kept = [taint for taint in node.taints if taint.key not in mine or taint.key in wanted]
    present = {taint.key for taint in kept}
    added = [key for key in sorted(mine - {names.PENDING_TAINT}) if key in wanted and key not in present]
    if not added and len(kept) == len(node.taints):
        return None
    stamp = age.format_seconds(now)
    taints: list[dict[str, Any]] = [decode.to_value(taint) for taint in kept]
    taints += [{"key": key, "effect": "NoSchedule", "timeAdded": stamp} for key in added]
    body = {"metadata": {"resourceVersion": node.resource_version}, "spec": {"taints": taints or None}}
    return PatchObject(ref=NODES, name=node.name, patch=body, on_behalf_of=node.name)
