"""A node as small as can be, for walking pods through whole lives: it does every deed at once and tells the truth.

Containers follow a script: how long each attempt runs and how it ends. Deeds that were begun wait until somebody
lets them end, in any order; time passes only when nothing is left to do. `crash` throws away everything the agent
knew and begins again from what the node has and the two books.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, UID

from flexlet.api.nodepod import NodePod
from flexlet.core.agent import deeds
from flexlet.core.agent.containers import names
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.fold import folded
from flexlet.core.agent.lifecycle import decide
from flexlet.core.agent.observations import (
    Answer,
    Done,
    Failed,
    Finished,
    Outcome,
    PodGone,
    PodObservation,
    PodSeen,
    PullBegan,
    Shown,
)
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.resize import conditions, podcgroup, steps
from flexlet.core.resize.allocation import NOTHING, Allocation, of_spec
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.resize.steps import WritePodCgroup
from flexlet.core.runtime.shown import EXITED, NOT_READY, READY, RUNNING, Container, RuntimePod, Sandbox

if TYPE_CHECKING:
    from flexlet.core.actions import RecordEvent
    from flexlet.core.resize.podcgroup import PodCgroup

FOREVER = float("inf")


class Run(msgspec.Struct, frozen=True):
    """How one attempt of a container goes: after so many seconds it ends so."""

    seconds: float = FOREVER
    code: int = 0
    on_term: int = 0
    """The exit code when it is asked to stop."""


Script = Mapping[str, Sequence[Run]]
"""By container; the last run repeats."""
Refusal = Callable[[PodDeed], Failed | None]


class Node:
    """One pod on one node."""

    def __init__(self, pod: NodePod, script: Script | None = None, **record: Any) -> None:
        self.now = NOW
        self.setup = SETUP
        self.script = script or {}
        self.refuse: Refusal = lambda _: None
        self.answers: Callable[[deeds.RunProbe], Answer] = lambda _: Answer(result="success")
        self.in_use = MemoryUsage(0, {})
        self.allocated: Allocation | None = of_spec(pod)
        self.actuated = NOTHING
        self.api: NodePod | None = pod
        self.sandboxes: list[Sandbox] = []
        self.containers: list[Container] = []
        self.cgroup: PodCgroup | None = None
        self.volumes = False
        self.looks = 0
        self.pending: list[tuple[PodDeed, float]] = []
        self.done: list[PodDeed] = []
        self.events: list[RecordEvent] = []
        self.reports: list[dict[str, Any]] = []
        self.wake_at: float | None = None
        self.record = self._joined(pod, record)

    def _joined(self, pod: NodePod, more: dict[str, Any]) -> PodRecord:
        known: dict[str, Any] = {
            "admission": ADMITTED,
            "allocation": self.allocated,
            "actuated": self.actuated,
            "resize": conditions.restored(pod, self.now),
            "started_at": pod.status.start_time or "",
        }
        return PodRecord(pod=pod, seen_at=self.now, **{**known, **more})

    # What the agent does

    def learn(self, observation: PodObservation) -> None:
        """Fold one observation."""
        after = folded(self.record, observation, self.setup, self.now)
        self.record = after.record
        self.events += after.events

    def think(self) -> None:
        """Decide once; what is begun waits in `pending`."""
        before = dict(self.record.underway)
        decision = decide(self.record, self.setup, self.now)
        for deed in decision.deeds:
            again = isinstance(deed, deeds.StopContainer) and deed.key in before
            assert deed.key not in before or again, f"{deed.key} begun twice"
            assert deed.key in decision.record.underway
            self.pending.append((deed, self.now))
        self.record = decision.record
        self.events += decision.events
        self.wake_at = decision.wake_at

    def end(self, index: int = 0) -> None:
        """Let one of the deeds under way come to its end."""
        deed, began_at = self.pending.pop(index)
        outcome = self.refuse(deed) or self._do(deed)
        if isinstance(deed, deeds.PullImage) and isinstance(outcome, Failed) and outcome.reason == "ErrImagePull":
            self.learn(PullBegan(uid=UID, container=deed.container, image=deed.image))
        self.done.append(deed)
        if isinstance(deed, _SHOWN_AFTER) or (isinstance(deed, deeds.Inspect) and isinstance(outcome, Done)):
            self.learn(self.look(usage=isinstance(deed, deeds.Inspect) and deed.usage))
        self.learn(Finished(deed=deed, outcome=outcome, began_at=began_at, ended_at=self.now))

    def settle(self, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Until nothing is left to do at this moment."""
        for _ in range(500):
            self.think()
            if not self.pending:
                return
            self.end(choose(len(self.pending)))
        raise AssertionError(f"no end: {self.done[-10:]}")

    def live(self, seconds: float, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Let time pass, with everything that falls due."""
        until = self.now + seconds
        self.settle(choose)
        while True:
            moments = [at for at in (self.wake_at, self._next_end()) if at is not None and at <= until]
            if not moments:
                self.now = until
                return
            self.now = max(self.now, min(moments))
            self._pass()
            self.settle(choose)

    def crash(self) -> None:
        """The agent dies, and another begins."""
        self.pending = []
        assert self.api is not None
        self.record = self._joined(self.api, {})

    # What others do

    def change(self, pod: NodePod) -> None:
        """The API has another version of the pod."""
        self.api = replace(pod, status=self.api.status) if self.api is not None else pod
        self.learn(PodSeen(self.api))

    def grant(self, pod: NodePod) -> None:
        """The household grants what the pod now asks for."""
        self.change(pod)
        self.allocated = of_spec(pod)
        resize = conditions.allocated(pod.metadata.generation, self.now)
        self.record = replace(self.record, allocation=self.allocated, resize=resize, failed_steps=frozenset())

    # The node

    def look(self, *, usage: bool = False) -> Shown:
        """What it shows now."""
        self.looks += 1
        return Shown(
            pod=RuntimePod(UID, tuple(reversed(self.sandboxes)), tuple(reversed(self.containers))),
            has_cgroup=self.cgroup is not None,
            cgroup=self.cgroup,
            usage=self.in_use if usage else None,
            messages={},
            order=self.looks,
        )

    def running(self) -> list[str]:
        """Names of what runs."""
        return [each.name for each in self.containers if each.state == RUNNING]

    def remains(self) -> list[str]:
        """What is left of the pod anywhere."""
        left = {
            "object": self.api is not None,
            "sandboxes": bool(self.sandboxes),
            "containers": bool(self.containers),
            "cgroup": self.cgroup is not None,
            "volumes": self.volumes,
        }
        return [what for what, there in left.items() if there]

    def kinds(self) -> list[str]:
        """What was done, in a word each."""
        return [_word(deed) for deed in self.done]

    def told(self) -> list[tuple[str, str]]:
        """Events without their type."""
        return [(event.reason, event.message) for event in self.events]

    def _do(self, deed: PodDeed) -> Outcome:
        return _WORK[type(deed)](self, deed) or Done()

    def _replace(self, container_id: str, **fields: Any) -> None:
        self.containers = [replace(c, **fields) if c.id == container_id else c for c in self.containers]

    def _finish(self, container_id: str, code: int) -> None:
        fields = {"state": EXITED, "exit_code": code, "finished_at": int(self.now * 1e9)}
        self._replace(container_id, **fields, reason="Completed" if code == 0 else "Error")

    def _next_end(self) -> float | None:
        ends = [self._ends_at(each) for each in self.containers if each.state == RUNNING]
        return min((at for at in ends if at != FOREVER), default=None)

    def _pass(self) -> None:
        """Containers whose time has come end; the runtime hints at it."""
        due = [c for c in self.containers if c.state == RUNNING and self._ends_at(c) <= self.now]
        for each in due:
            self._finish(each.id, self.run_of(each).code)
        if due:
            self.learn(self.look())

    def _ends_at(self, run: Container) -> float:
        return run.started_at / 1e9 + self.run_of(run).seconds

    def run_of(self, run: Container) -> Run:
        """The script of a run."""
        planned = self.script.get(run.name, (Run(),))
        return planned[min(run.attempt, len(planned) - 1)]


def _word(deed: PodDeed) -> str:
    about = getattr(deed, "container", "") or getattr(deed, "sandbox_id", "")
    return f"{type(deed).__name__} {about}".strip()


def _create_cgroup(node: Node, deed: deeds.CreatePodCgroup) -> None:
    fresh = {"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max"}
    node.cgroup = podcgroup.of_files({**fresh, **deed.files})
    node.actuated = replace(node.actuated, pod=deed.actuated.pod)


def _remove_cgroup(node: Node, _: deeds.RemovePodCgroup) -> None:
    node.cgroup = None


def _mount(node: Node, _: deeds.MountVolumes) -> None:
    node.volumes = True


def _unmount(node: Node, _: deeds.RemoveVolumes) -> None:
    node.volumes = False


def _run_sandbox(node: Node, deed: deeds.RunSandbox) -> Done:
    assert node.cgroup is not None, "a sandbox needs the pod's cgroup"
    assert node.volumes, "a sandbox comes after the volumes"
    made = Sandbox(
        id=f"s{deed.attempt}",
        uid=UID,
        attempt=deed.attempt,
        created_at=int(node.now * 1e9),
        ips=(f"10.1.0.{deed.attempt + 1}",),
        has_network_status=True,
    )
    node.sandboxes.append(made)
    return Done(id=made.id)


def _stop_sandbox(node: Node, deed: deeds.StopSandbox) -> None:
    inside = [c for c in node.containers if c.sandbox_id == deed.sandbox_id and c.state == RUNNING]
    for each in inside:
        node._finish(each.id, 137)
    node.sandboxes = [replace(s, state=NOT_READY) if s.id == deed.sandbox_id else s for s in node.sandboxes]


def _remove_sandbox(node: Node, deed: deeds.RemoveSandbox) -> None:
    assert not any(c.sandbox_id == deed.sandbox_id for c in node.containers), "not empty"
    node.sandboxes = [s for s in node.sandboxes if s.id != deed.sandbox_id]


def _pull(_: Node, deed: deeds.PullImage) -> Done:
    return Done(image_ref=f"sha256:{deed.image}")


def _start(node: Node, deed: deeds.StartContainer) -> Done:
    assert any(s.id == deed.sandbox_id and s.state == READY for s in node.sandboxes), "no sandbox"
    assert deed.container not in node.running(), f"{deed.container} runs already"
    made = f"{deed.container}#{deed.attempt}"
    assert made not in [c.id for c in node.containers], f"{made} was made before"
    entry = {deed.container: deed.actuated.containers[deed.container]}
    node.actuated = replace(node.actuated, containers=node.actuated.containers | entry)
    assert node.api is not None
    spec = node.api.spec
    of = next(
        c
        for c in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
        if c.name == deed.container
    )
    stamp = int(node.now * 1e9)
    node.containers.append(
        Container(
            id=made,
            name=deed.container,
            sandbox_id=deed.sandbox_id,
            attempt=deed.attempt,
            state=RUNNING,
            image="docker.io/library/busybox:1",
            image_ref=deed.image_ref,
            created_at=stamp,
            started_at=stamp,
            annotations={names.HASH: names.container_hash(of), names.RESTART_COUNT: str(deed.attempt)},
        )
    )
    return Done(id=made)


def _stop(node: Node, deed: deeds.StopContainer) -> None:
    run = next((c for c in node.containers if c.id == deed.container_id), None)
    if run is not None and run.state == RUNNING:
        node._finish(run.id, node.run_of(run).on_term)


def _remove(node: Node, deed: deeds.RemoveContainer) -> None:
    assert deed.container_id not in [c.id for c in node.containers if c.state == RUNNING], "it runs"
    node.containers = [c for c in node.containers if c.id != deed.container_id]


def _take(node: Node, deed: deeds.TakeStep) -> Done:
    assert node.record.allocation == node.allocated, "allocation must be durable before it is actuated"
    if isinstance(deed.step, WritePodCgroup):
        assert node.cgroup is not None
        node.cgroup = podcgroup.written(node.cgroup, deed.step.values)
    node.actuated = steps.recorded(node.actuated, deed.step)
    node.looks += 1
    return Done(order=node.looks)


def _report(node: Node, deed: deeds.ReportStatus) -> None:
    assert node.api is not None
    node.reports.append(deed.status)
    phase, started_at = deed.status["phase"], deed.status.get("startTime")
    node.api = replace(node.api, status=replace(node.api.status, phase=phase, start_time=started_at))
    node.learn(PodSeen(node.api))


def _finish_delete(node: Node, _: deeds.FinishDelete) -> None:
    assert node.api is not None
    assert node.api.status.phase in {"Succeeded", "Failed"}
    node.api = None
    node.learn(PodGone(UID))


def _nothing(_: Node, __: PodDeed) -> None:
    return


_WORK: dict[type[deeds.Deed], Callable[[Node, Any], Outcome | None]] = {
    deeds.Inspect: _nothing,
    deeds.ForgetPod: _nothing,
    deeds.CreatePodCgroup: _create_cgroup,
    deeds.RemovePodCgroup: _remove_cgroup,
    deeds.MountVolumes: _mount,
    deeds.RemoveVolumes: _unmount,
    deeds.RunSandbox: _run_sandbox,
    deeds.StopSandbox: _stop_sandbox,
    deeds.RemoveSandbox: _remove_sandbox,
    deeds.PullImage: _pull,
    deeds.StartContainer: _start,
    deeds.StopContainer: _stop,
    deeds.RunPreStop: _nothing,
    deeds.RemoveContainer: _remove,
    deeds.TakeStep: _take,
    deeds.RunProbe: lambda node, deed: node.answers(deed),
    deeds.ReportStatus: _report,
    deeds.FinishDelete: _finish_delete,
}
_SHOWN_AFTER = (
    deeds.RunSandbox,
    deeds.StopSandbox,
    deeds.RemoveSandbox,
    deeds.StartContainer,
    deeds.StopContainer,
    deeds.RemoveContainer,
    deeds.CreatePodCgroup,
    deeds.RemovePodCgroup,
)
