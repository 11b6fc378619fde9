"""Pods that only the runtime knows: their source has forgotten them, and so they must go.

Everything needed to stop one decently was written into its containers' annotations when they were made. The record
made from them is *gone* from the start: it is stopped, cleaned up, and told to nobody.
"""

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodeContainer, NodePod, NodePodSpec
from flexlet.api.nodepod.handlers import Handler, Lifecycle
from flexlet.core.agent.containers import names
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.runtime.shown import Container, RuntimePod
from flexlet.errors import InputError


def record_of(shown: RuntimePod, now: float) -> PodRecord:
    """A record that leads to the end of the pod."""
    labels = _labels(shown)
    meta = ObjectMeta(
        name=labels.get(names.POD_NAME, ""), namespace=labels.get(names.POD_NAMESPACE, ""), uid=shown.uid
    )
    newest = {each.name: each for each in reversed(shown.containers)}
    containers = tuple(_container(each) for each in newest.values())
    return PodRecord(
        pod=NodePod(metadata=meta, spec=NodePodSpec(containers=containers)),
        seen_at=now,
        gone=True,
        admission=ADMITTED,
        shown=shown,
    )


def _labels(shown: RuntimePod) -> dict[str, str]:
    found = [each.labels for each in shown.sandboxes] + [each.labels for each in shown.containers]
    return next(iter(found), {})


def _container(run: Container) -> NodeContainer:
    hook = _hook(run.annotations.get(names.PRE_STOP, ""))
    return NodeContainer(
        name=run.name, image=run.image, lifecycle=None if hook is None else Lifecycle(pre_stop=hook)
    )


def _hook(text: str) -> Handler | None:
    try:
        return decode.from_json(text, Handler) if text else None
    except InputError:
        return None
