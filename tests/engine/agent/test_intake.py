"""What the API shows of a node's pods."""

from typing import Any

import msgspec

from flexlet.api import decode
from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.observations import PodGone, PodSeen
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.engine.agent import intake

REF = ("", "v1", "pods")
META = {"name": "p", "namespace": "ns", "uid": "u"}


def seen(**fields: Any) -> PodSeen | NodePod:
    return intake.pod_seen(msgspec.json.encode({"metadata": META, **fields}))


def test_a_pod_is_told_with_what_cannot_be_honoured() -> None:
    raw = {"containers": [{"name": "c"}], "runtimeClassName": "gvisor"}
    whole = decode.from_value({"metadata": META, "spec": raw}, NodePod)
    assert seen(spec=raw) == PodSeen(whole, unsupported=("spec.runtimeClassName gvisor",))


def test_a_pod_that_cannot_be_read_is_told_by_name_with_the_reason() -> None:
    found = seen(spec={"containers": 5})
    assert isinstance(found, PodSeen)
    assert (found.pod, len(found.unsupported)) == (NodePod(metadata=decode.from_value(META, ObjectMeta)), 1)
    assert "spec.containers" in found.unsupported[0]


def test_mirrors_of_static_pods_are_kept_apart() -> None:
    noted = {**META, "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert intake.pod_seen(msgspec.json.encode({"metadata": noted})) == decode.from_value(
        {"metadata": noted}, NodePod
    )


def test_a_batch_is_sorted_out() -> None:
    noted = {**META, "annotations": {"kubernetes.io/config.mirror": "x"}}
    plain, mirror = (msgspec.json.encode({"metadata": each}) for each in (META, noted))
    batch: list[Observation] = [Seen(REF, plain), Seen(REF, mirror), Vanished(REF, "ns", "q", "w")]
    assert intake.sorted_out(batch) == intake.Intake(
        pods=(PodSeen(decode.from_json(plain, NodePod)), PodGone("w")),
        mirrors=(decode.from_json(mirror, NodePod),),
        gone=("w",),
    )
