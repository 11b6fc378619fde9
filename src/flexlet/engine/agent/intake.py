"""Turn what the API shows of this node's pods into observations.

A pod that flexlet cannot read at all is not a reason to stop: it is reported as one that asks for something
unsupported, by name, so that its owner learns what is wrong. Mirrors of static pods are kept apart: they stand for
pods that come from elsewhere.
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


class Intake(msgspec.Struct, frozen=True):
    """What a batch brought: news of pods, mirrors as they are now, and uids of whatever is gone."""

    pods: tuple[PodObservation, ...] = ()
    mirrors: tuple[NodePod, ...] = ()
    gone: tuple[str, ...] = ()


def sorted_out(batch: Iterable[Observation]) -> Intake:
    """What the agent's mind is told, and what its static pods are."""
    told: list[PodObservation] = []
    mirrors: list[NodePod] = []
    gone: list[str] = []
    for each in batch:
        if isinstance(each, Vanished):
            told.append(PodGone(each.uid))
            gone.append(each.uid)
        elif isinstance(each, Seen):
            seen = pod_seen(each.raw)
            if isinstance(seen, PodSeen):
                told.append(seen)
            else:
                mirrors.append(seen)
    return Intake(tuple(told), tuple(mirrors), tuple(gone))


def pod_seen(raw: bytes) -> PodSeen | NodePod:
    """A pod to run, or the mirror of a static one."""
    plain = msgspec.json.decode(raw)
    try:
        pod = decode.from_json(raw, NodePod)
    except InputError as error:
        meta = decode.from_value(plain.get("metadata") or {}, ObjectMeta)
        return PodSeen(NodePod(metadata=meta), unsupported=(str(error),))
    if MIRROR_ANNOTATION in pod.metadata.annotations:
        return pod
    return PodSeen(pod, unsupported=unsupported.found(plain))
