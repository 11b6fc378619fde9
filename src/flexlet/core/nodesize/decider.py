"""Keeps the balloons of all nodes that have a NodeSize as big as they should be.

It knows what the API shows: NodeSizes, nodes, and of pods just what they ask for. A change makes its node due; a
look at a node (`step`) is a pure function of what is known then. Beside the API it is told what kubelets are
configured to do (`learn_policies`) and how big machines are (`learn_machine`).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.nodesize import absence, manifest, modes, names, report, shapes, sights, sizes, step
from flexlet.core.nodesize.deeds import Outcome
from flexlet.core.nodesize.hardware import Deed
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.nodesize.scene import Measured, Scene
from flexlet.core.nodesize.settings import ClusterFacts, Settings
from flexlet.core.nodesize.shapes import Policies
from flexlet.core.nodesize.sights import Balloon, NodeSight
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.nodesize.tally import Tally
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import DAEMON_SETS, NODES, PODS

_REFUSALS: Final = frozenset({403, 422})
_HELD_S: Final = 0.25
BATCH: Final = 100
"""Nodes looked at in one round: what is decided is done soon, and answers are heard in between."""


class Tenant(msgspec.Struct, frozen=True):
    """What a pod asks for, and what it was granted."""

    node: str
    workload: Amounts
    granted: Amounts


class NodeSizeDecider:
    """Owns the picture of sized nodes."""

    name = "nodesize"

    def __init__(
        self, settings: Settings | None = None, cluster: ClusterFacts | None = None, tally: Tally | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.cluster = cluster or ClusterFacts()
        self.tally = tally or Tally()
        self._sizes: dict[str, NodeSize] = {}
        self._nodes: dict[str, NodeSight] = {}
        self._tenants: dict[str, Tenant] = {}
        self._tenants_on: dict[str, set[str]] = {}
        self._balloons: dict[str, dict[str, Balloon]] = {}
        self._balloon_nodes: dict[str, str] = {}
        self._policies: dict[str, Policies] = {}
        self._machines: dict[str, Measured] = {}
        self._refusals: dict[str, str] = {}
        self._troubles: dict[str, str] = {}
        self._reported: dict[str, float] = {}
        self.on_deed: Callable[[], None] = lambda: None
        """Called when there are deeds to take."""
        self._deeds: list[Deed] = []
        self._busy: set[str] = set()
        self._daemonsets: set[str] = set()
        self._queue = WorkQueue()

    # ---- learning

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == PODS:
                self._pod_seen(decode.from_json(raw, Pod))
            case Seen(ref=ref, raw=raw) if ref == NODES:
                self._node_seen(sights.node(raw))
            case Seen(ref=ref, raw=raw) if ref == names.NODE_SIZES:
                self._size_seen(decode.from_json(raw, NodeSize))
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._pod_gone(uid)
            case Vanished(ref=ref, name=name) if ref == NODES:
                self._nodes.pop(name, None)
                self._touch(name)
            case Vanished(ref=ref, name=name) if ref == names.NODE_SIZES:
                self._size_gone(name)
            case Failed():
                self._failed(observation)
            case _:
                pass

    def learn_policies(self, node: str, policies: Policies) -> None:
        """What the kubelet of a node is configured to do."""
        if self._policies.get(node) != policies:
            self._policies[node] = policies
            self._touch(node)

    def learn_machine(self, node: str, measured: Measured) -> None:
        """How big the machine of a node is."""
        self._machines[node] = measured
        self._busy.discard(node)
        self._touch(node)

    def lost_machine(self, node: str) -> None:
        """Nobody knows how big the machine of a node is: it is to be measured."""
        self._machines.pop(node, None)
        self._busy.discard(node)
        self._touch(node)

    def _touch(self, node: str) -> None:
        if node in self._sizes:
            self._queue.add(node)

    def _size_seen(self, size: NodeSize) -> None:
        name = size.metadata.name
        before = self._sizes.get(name)
        self._sizes[name] = size
        if before is None or before.metadata.generation != size.metadata.generation:
            self._queue.forgive(name)
        if before != size:
            self._queue.add(name)

    def _size_gone(self, name: str) -> None:
        self._sizes.pop(name, None)
        self._queue.drop(name)
        self.tally.forget(name)
        for known in (self._refusals, self._troubles, self._reported, self._machines):
            known.pop(name, None)

    def _node_seen(self, node: NodeSight) -> None:
        before = self._nodes.get(node.name)
        self._nodes[node.name] = node
        same = before and msgspec.structs.replace(before, resource_version=node.resource_version)
        if same != node:
            self._touch(node.name)

    def _pod_seen(self, pod: Pod) -> None:
        node, uid = pod.spec.node_name, pod.metadata.uid
        if not node:
            return
        if sights.is_balloon(pod, self.settings.namespace):
            new = sights.balloon(pod)
            known = self._balloons.setdefault(node, {})
            if known.get(uid) != new:
                known[uid] = new
                self._balloon_nodes[uid] = node
                self._troubles.pop(node, None)
                self._touch(node)
            return
        is_over = pod.status.phase in sights.FINISHED
        self.tally.pod_seen(pod)
        tenant = None if is_over else Tenant(node, sights.workload(pod), sights.granted(pod))
        if tenant is None:
            self._pod_gone(uid)
        elif self._tenants.get(uid) != tenant:
            self._tenants[uid] = tenant
            self._tenants_on.setdefault(node, set()).add(uid)
            self._touch(node)

    def _pod_gone(self, uid: str) -> None:
        tenant = self._tenants.pop(uid, None)
        if tenant is not None:
            self._tenants_on[tenant.node].discard(uid)
            self._touch(tenant.node)
            return
        node = self._balloon_nodes.pop(uid, "")
        if node:
            self._balloons[node].pop(uid, None)
            self._touch(node)

    def _failed(self, failed: Failed) -> None:
        action = failed.action
        if not isinstance(action, PatchObject | CreateObject | DeleteObject) or not action.on_behalf_of:
            return
        node = action.on_behalf_of
        is_resize = isinstance(action, PatchObject) and action.subresource == "resize"
        if isinstance(action, CreateObject) and failed.code in _REFUSALS:
            self._troubles[node] = failed.message
        if is_resize and failed.code in _REFUSALS:
            self._refusals[node] = failed.message
            self._queue.add(node)
        else:
            self._queue.refused(node)

    # ---- deciding

    def decide(self, now: float) -> ApiPlan:
        """What the nodes that are due need."""
        actions: list[ApiAction] = []
        for name in self._queue.take(now, at_most=BATCH):
            if self._queue.held(name):
                # An alarm of its own may have been the reason, and there is only one per key.
                self._queue.add_at(name, now + _HELD_S)
                continue
            found = self._queue.attempt(name, partial(self._look, name, now))
            actions += found
            if not found:
                self._queue.forgive(name)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def take_deeds(self) -> list[Deed]:
        """What hypervisor ends are to do, which are told with that."""
        taken, self._deeds = self._deeds, []
        return taken

    def scene(self, name: str) -> Scene | None:
        """All that is known of a node with a NodeSize."""
        size, node = self._sizes.get(name), self._nodes.get(name)
        if size is None or node is None:
            return None
        here = [self._tenants[uid] for uid in self._tenants_on.get(name, ())]
        return Scene(
            size=size,
            node=node,
            balloons=self._live(name),
            workload=sizes.total(tenant.workload for tenant in here),
            granted=sizes.total(tenant.granted for tenant in here),
            settings=self.settings,
            verdict=modes.judge(node, self.settings, self.cluster),
            policies=self._policies.get(name) or shapes.declared(node) or Policies(),
            refusal=self._refusals.get(name, ""),
            trouble=self._troubles.get(name, ""),
            machine=self._machine(name),
            has_machine=bool(size.spec.machine and size.spec.machine.qmp),
        )

    def _machine(self, name: str) -> Measured | None:
        known = self._machines.get(name)
        return known and msgspec.structs.replace(known, is_busy=name in self._busy)

    def kubelets(self) -> list[str]:
        """Sized nodes whose agent is not flexlet's own."""
        known = (self._nodes.get(name) for name in self._sizes)
        return [node.name for node in known if node is not None and not node.is_native]

    def _live(self, name: str) -> tuple[Balloon, ...]:
        found = [b for b in self._balloons.get(name, {}).values() if not b.is_finished and not b.is_ending]
        return tuple(sorted(found, key=lambda b: (b.created, b.uid)))

    def _look(self, name: str, now: float) -> Iterator[ApiAction]:
        size = self._sizes.get(name)
        if size is None:
            return
        yield from absence.hold(size)
        scene = self.scene(name)
        if scene is None:
            yield from absence.look(size, now)
            return
        over = [b for b in self._balloons.get(name, {}).values() if b.is_finished and not b.is_ending]
        if over:
            # A node that does not take it will not take the next one either, at least not at once.
            self._queue.refused(name)
            yield from (step.remains(scene, b) for b in over)
            return
        if any(b.is_ending for b in self._balloons.get(name, {}).values()) and not scene.balloons:
            return
        yield from self._daemonset(scene)
        outcome = step.look(scene, now)
        self._refusals.pop(name, None)
        if outcome.wake_at is not None:
            self._queue.add_at(name, outcome.wake_at)
        if outcome.deed is not None and name not in self._busy:
            self._deeds.append(outcome.deed)
            self._busy.add(name)
            self.on_deed()
        yield from outcome.actions
        yield from outcome.resizes
        yield from self._report(scene, outcome, now)

    def _daemonset(self, scene: Scene) -> Iterator[ApiAction]:
        """In the other form of management a DaemonSet per shape makes the pods; it is made when first needed."""
        shape = step.shape(scene)
        if self.settings.management != "DaemonSet" or shape in self._daemonsets or scene.balloons:
            return
        self._daemonsets.add(shape)
        body = manifest.daemonset(self.settings, shape, scene.verdict.priority_class)
        yield CreateObject(ref=DAEMON_SETS, namespace=self.settings.namespace, body=body)

    def _report(self, scene: Scene, outcome: Outcome, now: float) -> Iterator[ApiAction]:
        name = scene.node.name
        self.tally.looked(scene, outcome.status, now)
        patch = report.patch(scene.size, outcome.status)
        if patch is None:
            return
        due = self._reported.get(name, 0.0) + self.settings.report_every_s
        if now < due and report.is_figures_only(scene.size, outcome.status):
            self._queue.add_at(name, due)
            return
        self._reported[name] = now
        self.tally.ended(name, report.ended(scene.size.status, outcome.status), now)
        yield patch
        yield from report.told(scene, outcome.status)
