"""Keeps virtual machines running, and as big as they should be, by resizing their pods in place.

It knows what the API shows, and what launchers say over lines that others keep open (`launchers`, `take_orders`,
`learn_report`, `lost_line`). A change makes its machine due; a look at a machine is a pure function of what is
known then. All that must outlive the controller is in the status of the FlexVM.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.quota import ResourceQuota
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.nodesize import sights as nodesights
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.names import NODE_SIZES
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import (
    deeds,
    devices,
    events,
    fallback,
    migration,
    names,
    report,
    running,
    sights,
    step,
    validation,
    wanted,
    watching,
)
from flexlet.core.vm.guest import Order, Report, SetSize
from flexlet.core.vm.objects import FlexVM, FlexVMMigration
from flexlet.core.vm.scene import Refusal, Scene
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.sights import LauncherPod, NodeSight
from flexlet.core.vm.step import Step
from flexlet.core.vm.tally import Tally
from flexlet.core.vm.watching import Basis, Watch
from flexlet.errors import InputError

RESOURCE_QUOTAS: Final = ("", "v1", "resourcequotas")
FOLLOWS: Final = (names.FLEX_VMS, names.MIGRATIONS, PODS, NODES, NODE_SIZES, RESOURCE_QUOTAS)
"""What it wants to be told of."""
_REFUSALS: Final = frozenset({400, 403, 422})
_HELD_S: Final = 0.25
_QUIET: Final = frozenset({"", "Idle", "Done"})
REPORT_EVERY_S: Final = 1.0
"""Figures of a guest that changes its size are written this often at most."""


class Launcher(msgspec.Struct, frozen=True):
    """The other end of a line: a launcher pod that runs."""

    namespace: str
    pod: str
    uid: str
    node: str


class VmDecider:
    """Owns the picture of virtual machines."""

    name = "flexvm"

    def __init__(self, settings: Settings | None = None, tally: Tally | None = None) -> None:
        self.settings = settings or Settings()
        self.tally = tally or Tally()
        self._vms: dict[str, FlexVM] = {}
        self._pods: dict[str, dict[str, LauncherPod]] = {}
        self._key_of: dict[str, str] = {}
        self._watches: dict[str, Watch] = {}
        self._migrations: dict[str, FlexVMMigration] = {}
        self._nodes: dict[str, NodeSight] = {}
        self._sizes: dict[str, NodeSize] = {}
        self._taken: dict[str, tuple[str, Amounts]] = {}
        self._quotas: dict[tuple[str, str], ResourceQuota] = {}
        self._news: set[str] = set()
        self._resized: set[str] = set()
        """Machines whose node has another size since they were last looked at."""
        self._refusals: dict[str, Refusal] = {}
        self._troubles: dict[str, str] = {}
        self._reported: dict[str, float] = {}
        self._killed: set[str] = set()
        self._orders: list[tuple[Launcher, Order]] = []
        self._count = 0
        self.on_order: Callable[[], None] = lambda: None
        """Called when there are orders to take, or other launchers to talk to."""
        self._queue = WorkQueue()

    # ---- learning

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw):
                self._seen(ref, raw)
            case Vanished():
                self._vanished(observation)
            case Failed():
                self._failed(observation)
            case _:
                pass

    def _seen(self, ref: tuple[str, str, str], raw: bytes) -> None:
        if ref == PODS:
            self._pod_seen(decode.from_json(raw, Pod))
        elif ref == names.FLEX_VMS:
            self._vm_seen(raw)
        elif ref == names.MIGRATIONS:
            self._migration_seen(decode.from_json(raw, FlexVMMigration))
        elif ref == NODES:
            self._node_seen(sights.node(raw))
        elif ref == NODE_SIZES:
            self._size_seen(decode.from_json(raw, NodeSize))
        elif ref == RESOURCE_QUOTAS:
            self._quota_seen(decode.from_json(raw, ResourceQuota))

    def _vanished(self, gone: Vanished) -> None:
        key = f"{gone.namespace}/{gone.name}"
        if gone.ref == PODS:
            self._pod_gone(gone.uid)
        elif gone.ref == names.FLEX_VMS:
            self._vm_gone(key)
        elif gone.ref == names.MIGRATIONS:
            known = self._migrations.pop(gone.uid, None)
            self._queue.add(_machine_of(known) if known else key)
        elif gone.ref == NODES:
            self._nodes.pop(gone.name, None)
        elif gone.ref == NODE_SIZES:
            self._sizes.pop(gone.name, None)
        elif gone.ref == RESOURCE_QUOTAS:
            self._quotas.pop((gone.namespace, gone.name), None)
            self._quota_moved(gone.namespace)

    def _vm_seen(self, raw: bytes) -> None:
        try:
            vm = decode.from_json(raw, FlexVM)
        except InputError:
            return  # the API's schema keeps such out; one that slipped through keeps what it has
        key = _key(vm)
        before = self._vms.get(key)
        self._vms[key] = vm
        if before is None or before.metadata.generation != vm.metadata.generation:
            self._queue.forgive(key)
        if before != vm:
            self._queue.add(key)

    def _vm_gone(self, key: str) -> None:
        self._vms.pop(key, None)
        self._queue.drop(key)
        self.tally.forget(key)
        for known in (self._refusals, self._troubles, self._reported):
            known.pop(key, None)

    def _pod_seen(self, pod: Pod) -> None:
        uid, taken = pod.metadata.uid, sights.taken(pod)
        if taken is None or nodesights.is_balloon(pod):
            self._taken.pop(uid, None)
        else:
            self._taken[uid] = (pod.spec.node_name, taken)
        if names.LABEL not in pod.metadata.labels:
            return
        new = sights.launcher(pod)
        key = f"{new.namespace}/{new.vm}"
        known = self._pods.setdefault(key, {})
        if known.get(uid) != new:
            known[uid] = new
            self._key_of[uid] = key
            self._queue.add(key)
            self._count_oom(key, new)
            self._verify(key, new)
            self.on_order()

    def _pod_gone(self, uid: str) -> None:
        self._taken.pop(uid, None)
        key = self._key_of.pop(uid, "")
        if key:
            self._pods[key].pop(uid, None)
            self._watches.pop(uid, None)
            self._killed.discard(uid)
            self.tally.forget_pod(uid)
            self._queue.add(key)
            self.on_order()

    def _migration_seen(self, migration: FlexVMMigration) -> None:
        if self._migrations.get(migration.metadata.uid) != migration:
            self._migrations[migration.metadata.uid] = migration
            self._queue.add(_machine_of(migration))

    def _node_seen(self, node: NodeSight) -> None:
        if self._nodes.get(node.name) != node:
            self._nodes[node.name] = node
            self._resized |= self._touch_node(node.name)

    def _size_seen(self, size: NodeSize) -> None:
        before = self._sizes.get(size.metadata.name)
        self._sizes[size.metadata.name] = size
        if before is None or before.status.effective != size.status.effective:
            self._touch_node(size.metadata.name)

    def _touch_node(self, name: str) -> set[str]:
        """Machines of a node that wait for something look again."""
        found = set()
        for key, pods in self._pods.items():
            vm = self._vms.get(key)
            is_waiting = vm is not None and vm.status.resize is not None and vm.status.resize.phase not in _QUIET
            if is_waiting and any(pod.node == name for pod in pods.values()):
                self._queue.add(key)
                found.add(key)
        return found

    def _quota_seen(self, quota: ResourceQuota) -> None:
        where = quota.metadata.namespace, quota.metadata.name
        before = self._quotas.get(where)
        self._quotas[where] = quota
        if before is None or (before.spec, before.status) != (quota.spec, quota.status):
            self._quota_moved(quota.metadata.namespace)

    def _quota_moved(self, namespace: str) -> None:
        for key, vm in self._vms.items():
            resize = vm.status.resize
            is_held = resize is not None and any(s.reason == fallback.QUOTA for s in resize.setbacks)
            if vm.metadata.namespace == namespace and (is_held or key in self._troubles):
                self._news.add(key)
                self._queue.forgive(key)
                self._queue.add(key)

    def _failed(self, failed: Failed) -> None:
        action = failed.action
        if not isinstance(action, PatchObject | CreateObject | DeleteObject) or not action.on_behalf_of:
            return
        key = action.on_behalf_of
        is_resize = isinstance(action, PatchObject) and action.subresource == "resize"
        if isinstance(action, CreateObject) and action.ref == PODS and failed.code in _REFUSALS:
            self._troubles[key] = failed.message
        if is_resize and failed.code in _REFUSALS:
            self._refusals[key] = Refusal(action.reason, failed.code, failed.message)
            self._queue.add(key)
        elif not (isinstance(action, CreateObject) and failed.code == 409):
            self._queue.refused(key)

    # ---- launchers

    def launchers(self) -> frozenset[Launcher]:
        """Lines that should be open."""
        return frozenset(
            _launcher(pod)
            for pods in self._pods.values()
            for pod in pods.values()
            if pod.phase == "Running" and pod.owner
        )

    def take_orders(self) -> list[tuple[Launcher, Order]]:
        """What launchers are to be told, which is told with that."""
        taken, self._orders = self._orders, []
        return taken

    def learn_report(self, launcher: Launcher, report: Report, now: float) -> None:
        """A machine as it is."""
        key = self._key_of.get(launcher.uid, "")
        if not key:
            return
        watch = self._watches.setdefault(launcher.uid, Watch())
        watch.heard = watching.heard(watch.heard, report, now)
        self.tally.sampled(launcher.uid, report.resident)
        pod = self._pods[key].get(launcher.uid)
        if pod is not None:
            self._verify(key, pod)
        self._queue.add(key)

    def lost_line(self, launcher: Launcher, now: float) -> None:
        """Nobody answers, and orders that were not answered may not have arrived."""
        del now
        watch = self._watches.get(launcher.uid)
        key = self._key_of.get(launcher.uid, "")
        if watch is not None and watch.heard is not None and key:
            watch.heard = watch.told = None
            watch.devices.clear()
            self._queue.add(key)

    def _verify(self, key: str, pod: LauncherPod) -> None:
        """Count what must never be: a pod with less than its guest needs."""
        vm, watch = self._vms.get(key), self._watches.get(pod.uid)
        if vm is None or watch is None:
            return
        basis = Basis(wanted.wanted(vm, self.settings), _corrected(vm))
        if watching.is_violated(watch, pod, basis, self.settings):
            self.tally.violations += 1

    def _count_oom(self, key: str, pod: LauncherPod) -> None:
        vm = self._vms.get(key)
        resize = vm.status.resize if vm else None
        if pod.is_over and pod.is_oom and pod.uid not in self._killed and resize is not None:
            self._killed.add(pod.uid)
            self.tally.ooms += resize.phase not in {*_QUIET, "Failed"}

    # ---- deciding

    def decide(self, now: float) -> ApiPlan:
        """What the machines that are due need."""
        actions: list[ApiAction] = []
        for key in self._queue.take(now):
            if self._queue.held(key):
                self._queue.add_at(key, now + _HELD_S)
                continue
            found = list(self._look(key, now))
            actions += found
            if not found:
                self._queue.forgive(key)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at)

    def scene(self, namespace: str, name: str) -> Scene | None:
        """All that is known of a machine."""
        key = f"{namespace}/{name}"
        vm = self._vms.get(key)
        if vm is None:
            return None
        mine = [p for p in self._pods.get(key, {}).values() if p.owner == vm.metadata.uid]
        wish = wanted.wanted(vm, self.settings)
        scene = Scene(
            vm=vm,
            wanted=wish,
            boot=wanted.machine(vm, self.settings),
            settings=self.settings,
            pods=tuple(sorted(mine, key=lambda p: (p.created, p.uid))),
            refusal=self._refusals.get(key),
            trouble=self._troubles.get(key, ""),
            complaints=tuple(str(c) for c in validation.complaints(vm, self.settings)),
            quota_changed=key in self._news,
            node_changed=key in self._resized,
            migrations=tuple(m for m in self._migrations.values() if _machine_of(m) == key),
        )
        return self._about_pod(scene)

    def _about_pod(self, scene: Scene) -> Scene:
        """With what its launcher says, and what is known of its node."""
        pod = scene.pod
        if pod is None:
            return scene
        watch, status = self._watches.get(pod.uid, Watch()), scene.vm.status
        is_same = status.pod is not None and status.pod.uid == pod.uid
        given = tuple(sorted({*(status.devices if is_same else ()), *watch.devices}))
        found = msgspec.structs.replace(
            scene,
            devices=given,
            wanted=msgspec.structs.replace(scene.wanted, has_vfio=scene.wanted.has_vfio or bool(given)),
            heard=watch.heard,
            told=watch.told,
            node=self._nodes.get(pod.node),
            size=self._sizes.get(pod.node),
            others=self._others(pod) if pod.node in self._sizes else None,
        )
        resident = self.tally.resident(pod.uid)
        known = _corrected(scene.vm)
        corrected = watching.correction(scene.wanted, found.report, known, resident, self.settings)
        return msgspec.structs.replace(found, correction=corrected)

    def _others(self, pod: LauncherPod) -> Amounts:
        here = (taken for uid, (node, taken) in self._taken.items() if node == pod.node and uid != pod.uid)
        return sizes.total(here)

    def _look(self, key: str, now: float) -> Iterator[ApiAction]:
        namespace, _, name = key.partition("/")
        scene = self.scene(namespace, name)
        if scene is None:
            moves = [move for move in self._migrations.values() if _machine_of(move) == key]
            yield from (action for move in moves for action in migration.lost(move, now))
            return
        if scene.vm.metadata.deletion_timestamp is None:
            yield from deeds.hold(scene.vm)
        elif not scene.pods:
            yield from deeds.release(scene.vm)
            return
        will = running.will(scene, now)
        yield from deeds.pods(scene, will)
        if will.wake_at is not None:
            self._queue.add_at(key, will.wake_at)
        yield from self._move(scene, now)
        found = step.look(scene, now) if scene.pod is not None else None
        self._refusals.pop(key, None)
        self._news.discard(key)
        self._resized.discard(key)
        if scene.pod is not None:
            self._troubles.pop(key, None)
        if found is not None:
            yield from self._do(scene, found, now)
        yield from self._report(scene, will, found, now)

    def _do(self, scene: Scene, found: Step, now: float) -> Iterator[ApiAction]:
        yield from found.actions
        pod = scene.pod
        if pod is None:
            return
        if found.patch is not None:
            yield deeds.resize(scene, pod, found.patch, found.resource)
        yield from deeds.note(scene, pod, found)
        if found.wake_at is not None:
            self._queue.add_at(scene.key, found.wake_at)
        self._attach(scene, pod)
        self._tell(scene, pod, found, now)

    def _attach(self, scene: Scene, pod: LauncherPod) -> None:
        """Hand over the next device; one for each report, since lines keep the latest order of a kind only."""
        watch = self._watches.get(pod.uid)
        if watch is None or watch.heard is None or watch.heard.at in watch.devices.values():
            return
        order = devices.next_order(scene, watch.devices)
        if order is not None:
            watch.devices[order.id] = watch.heard.at
            self._orders.append((_launcher(pod), order))
            self.on_order()

    def _move(self, scene: Scene, now: float) -> Iterator[ApiAction]:
        """What its migrations need."""
        heard = {pod.uid: self._watches[pod.uid].heard for pod in scene.pods if pod.uid in self._watches}
        voices = {uid: word.report for uid, word in heard.items() if word is not None}
        found = migration.look(scene, voices, now)
        yield from found.actions
        if found.wake_at is not None:
            self._queue.add_at(scene.key, found.wake_at)
        if found.orders:
            self._orders += [(_launcher(pod), order) for pod, order in found.orders]
            self.on_order()

    def _tell(self, scene: Scene, pod: LauncherPod, found: Step, now: float) -> None:
        order, told = found.order, scene.told
        if order is None or scene.report is None or scene.is_moving:
            return
        if told is not None and (told.vcpus, told.memory) == (order.vcpus, order.memory) and not found.is_again:
            return
        self._count += 1
        new = SetSize(
            # Never one that was used before, not even by the controller that died a moment ago.
            id=f"{now:.3f}-{scene.vm.metadata.resource_version}-{self._count}",
            vcpus=order.vcpus,
            memory=order.memory,
            unplug_timeout_s=scene.unplug_timeout_s,
        )
        self._watches[pod.uid].told = new
        self._orders.append((_launcher(pod), new))
        self.on_order()

    def _report(self, scene: Scene, will: running.Will, found: Step | None, now: float) -> Iterator[ApiAction]:
        resize = found.resize if found else deeds.rested(scene)
        new = report.status(scene, will, resize, found.patch if found else None, now)
        self.tally.looked(scene, resize)
        patch = report.patch(scene.vm, new)
        if patch is None:
            return
        due = self._reported.get(scene.key, 0.0) + REPORT_EVERY_S
        if now < due and report.is_figures_only(scene.vm, new):
            self._queue.add_at(scene.key, due)
            return
        self._reported[scene.key] = now
        self.tally.moved(scene.key, scene.vm.status.resize, resize, now)
        yield patch
        yield from events.told(scene.vm, resize)


def _key(vm: FlexVM) -> str:
    return f"{vm.metadata.namespace}/{vm.metadata.name}"


def _machine_of(migration: FlexVMMigration) -> str:
    return f"{migration.metadata.namespace}/{migration.spec.vm_name}"


def _launcher(pod: LauncherPod) -> Launcher:
    return Launcher(pod.namespace, pod.name, pod.uid, pod.node)


def _corrected(vm: FlexVM) -> int:
    memory = vm.status.memory
    return memory.overhead_correction.value if memory and memory.overhead_correction else 0
