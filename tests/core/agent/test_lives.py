"""Whole lives on the smallest node: the same statuses in the same order as a kubelet 1.36.3 wrote, and its events.

Times, addresses, ids and resources aside (those are held elsewhere). A status that the recording lacks may have
been too short to be seen there; one that it has must come in its place.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.core.agent.builders import UID, deleted
from tests.core.agent.model import Node, Run, Script
from tests.lives.recording import Life, load

from flexlet.api import decode
from flexlet.api.nodepod import NodePod, NodePodStatus
from flexlet.core.agent import deeds
from flexlet.core.agent.deeds import PodDeed, RunProbe
from flexlet.core.agent.observations import Answer, Failed
from flexlet.core.resources.qos import qos_class

Json = dict[str, Any]
LIST = "containerStatuses"


def outline(status: Json) -> tuple[Any, ...]:
    """What a status says, apart from times, texts and amounts."""
    conditions = [(each["type"], each["status"], each.get("reason", "")) for each in status["conditions"]]
    entries = [
        (each["name"], *_state(each["state"]), *_state(each["lastState"]), each["restartCount"], each["ready"])
        for key in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for each in status.get(key, ())
    ]
    return status["phase"], status.get("reason", ""), tuple(conditions), tuple(entries)


def _state(state: Json) -> tuple[str, str, int]:
    for kind, detail in state.items():
        return kind, detail.get("reason", ""), detail.get("exitCode", 0)
    return "", "", 0


def recorded(life: Life) -> list[tuple[Any, ...]]:
    """What the kubelet wrote, each status once."""
    told = [outline(each.status) for each in life.watch if each.status.get("containerStatuses")]
    return [now for before, now in zip([None, *told], told, strict=False) if now != before]


def posted(life: Life) -> NodePod:
    assert life.pod is not None
    bare = decode.from_value(life.pod, NodePod)
    meta = replace(bare.metadata, uid=UID, generation=1, namespace=f"life-{life.name}")
    return replace(bare, metadata=meta, status=NodePodStatus(phase="Pending", qos_class=qos_class(bare)))


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How a life is lived again."""

    script: Script = {}
    seconds: float = 60.0
    delete: bool = False
    refuse: Callable[[PodDeed], Failed | None] = lambda _: None
    answer: Callable[[RunProbe], Answer] = lambda _: Answer(result="success")


def pulls_fail(name: str, reason: str) -> Callable[[PodDeed], Failed | None]:
    """As in the recording: with the text that the container waits with."""
    waiting = [each["state"].get("waiting", {}) for e in load(name).watch for each in e.status.get(LIST, ())]
    message = next(each["message"] for each in waiting if each.get("reason") == reason)
    failure = Failed(reason=reason, message=message)
    return lambda deed: failure if isinstance(deed, deeds.PullImage) else None


LIVES = {
    "plain": Plan(delete=True),
    "plain-sigkill": Plan(script={"c": [Run(on_term=137)]}, delete=True),
    "crash-always": Plan(script={"c": [Run(1, 1)]}, seconds=40),
    "exit0-always": Plan(script={"c": [Run(1, 0)]}, seconds=30),
    "onfailure-fail": Plan(script={"c": [Run(1, 4), Run(1, 0)]}),
    "never-succeeded": Plan(script={"a": [Run(1, 0)], "b": [Run(5, 0)]}),
    "never-failed": Plan(script={"a": [Run(1, 0)], "b": [Run(5, 3)]}, delete=True),
    "container-restart-rules": Plan(script={"c": [Run(2, 5)]}, seconds=5),
    "init-success": Plan(script={"i1": [Run(1, 0)], "i2": [Run(2, 0)]}, delete=True),
    "init-failure-never": Plan(script={"i1": [Run(1, 0)], "i2": [Run(1, 7)]}),
    "init-failure-always": Plan(script={"i": [Run(1, 1), Run(1, 1), Run(1, 0)]}),
    "sidecar": Plan(delete=True),
    "sidecar-job": Plan(script={"a": [Run(5, 0)]}),
    "sidecar-crash": Plan(script={"s": [Run(4, 1)]}, seconds=23),
    "deadline": Plan(),
    "pull-fail": Plan(refuse=pulls_fail("pull-fail", "ErrImagePull"), seconds=9),
    "pull-never": Plan(refuse=pulls_fail("pull-never", "ErrImageNeverPull"), seconds=5),
    "probe-liveness": Plan(answer=lambda _: Answer(result="failure", output="dead\n"), seconds=7),
}


def lived(name: str) -> Node:
    plan = LIVES[name]
    node = Node(posted(load(name)), plan.script)
    node.refuse, node.answers = plan.refuse, plan.answer
    node.live(plan.seconds)
    if plan.delete:
        assert node.api is not None
        node.change(deleted(node.api))
        node.live(60)
        assert node.remains() == []
        assert node.record.cleaned is True
    assert not node.record.underway
    return node


@pytest.mark.parametrize("name", LIVES)
def test_statuses(name: str) -> None:
    """Every status that the kubelet wrote is written, in its order, and hardly any other."""
    ours, theirs = [outline(each) for each in lived(name).reports], recorded(load(name))
    left = iter(ours)
    assert [each for each in theirs if each not in left] == []
    assert len(set(ours)) <= len(set(theirs)) + 1


NOISE = {"FailedCreatePodSandBox"}
"""An interrupted system call in one recording."""


@pytest.mark.parametrize("name", LIVES)
def test_events(name: str) -> None:
    """The same ones, however often: type, reason, message and container."""
    theirs = {
        (each["type"], each["reason"], each["message"].replace("<uid>", UID), each.get("fieldPath"))
        for each in load(name).events
        if each["component"] == "kubelet" and each["reason"] not in NOISE
    }
    ours = {(e.type, e.reason, e.message, e.about.get("fieldPath")) for e in lived(name).events}
    assert (ours - theirs, theirs - ours) == (set(), set())
