"""Turn what the API shows of this node's pods into observations.

A pod that flexlet cannot read at all is not a reason to stop: it is reported as one that asks for something
unsupported, by name, so that its owner learns what is wrong.
"""

from collections.abc import Iterable

import msgspec

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.containers import unsupported
from flexlet.core.agent.observations import PodGone, PodObservation, PodSeen
from flexlet.core.critical import MIRROR_ANNOTATION
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.errors import InputError


def observations(batch: Iterable[Observation]) -> list[PodObservation]:
    """What the agent's mind is told; mirrors of static pods are another one's business."""
    told: list[PodObservation] = []
    for each in batch:
        if isinstance(each, Vanished):
            told.append(PodGone(each.uid))
        elif isinstance(each, Seen) and (seen := pod_seen(each.raw)) is not None:
            told.append(seen)
    return told


def pod_seen(raw: bytes) -> PodSeen | None:
    """A pod, None for the mirror of a static one."""
    plain = msgspec.json.decode(raw)
    try:
        pod = decode.from_json(raw, NodePod)
    except InputError as error:
        meta = decode.from_value(plain.get("metadata") or {}, ObjectMeta)
        return PodSeen(NodePod(metadata=meta), unsupported=(str(error),))
    if MIRROR_ANNOTATION in pod.metadata.annotations:
        return None
    return PodSeen(pod, unsupported=unsupported.found(plain))
