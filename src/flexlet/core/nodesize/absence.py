"""A NodeSize whose node is not there."""

from flexlet.api import age
from flexlet.api.meta import Condition
from flexlet.core.actions import ApiAction, PatchObject
from flexlet.core.nodesize import names, report
from flexlet.core.nodesize.objects import NodeSize, NodeSizeStatus


def look(size: NodeSize, now: float) -> list[ApiAction]:
    """Say so; one that is being deleted goes at once, its balloon went with the node."""
    meta = size.metadata
    if meta.deletion_timestamp is not None:
        return [release(size)] if names.FINALIZER in meta.finalizers else []
    known = next((c for c in size.status.conditions if c.type == "Ready"), None)
    since = known.last_transition_time if known and known.status == "False" else age.format_seconds(now)
    ready = Condition(
        type="Ready",
        status="False",
        reason="NodeMissing",
        message=f"there is no node {meta.name}",
        last_transition_time=since,
        observed_generation=meta.generation,
    )
    kept = NodeSizeStatus(
        observed_generation=meta.generation,
        balloon=size.status.balloon,
        base=size.status.base,
        progress=size.status.progress,
        conditions=(ready,),
    )
    patch = report.patch(size, kept)
    return [patch] if patch else []


def hold(size: NodeSize) -> list[ApiAction]:
    """The finalizer that keeps a NodeSize until its balloon has given back what it holds."""
    meta = size.metadata
    if names.FINALIZER in meta.finalizers or meta.deletion_timestamp is not None:
        return []
    return [_finalizers(size, [*meta.finalizers, names.FINALIZER])]


def release(size: NodeSize) -> PatchObject:
    """The end of that."""
    return _finalizers(size, [name for name in size.metadata.finalizers if name != names.FINALIZER])


def _finalizers(size: NodeSize, wanted: list[str]) -> PatchObject:
    meta = size.metadata
    body = {"metadata": {"finalizers": wanted or None, "resourceVersion": meta.resource_version}}
    return PatchObject(ref=names.NODE_SIZES, name=meta.name, patch=body, on_behalf_of=meta.name)
