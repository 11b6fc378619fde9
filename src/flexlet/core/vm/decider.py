"""Keeps virtual machines running, and as big as they should be, by resizing their pods in place.

It knows what the API shows, and what launchers say over lines that others keep open (`launchers`, `take_orders`,
`learn_report`, `lost_line`). A change makes its machine due; a look at a machine is a pure function of what is
known then. All that must outlive the controller is in the status of the FlexVM.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.nodesize.names import NODE_SIZES
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import deeds, devices, events, migration, names, report, running, step, watching
from flexlet.core.vm.guest import Order, Report, SetSize
from flexlet.core.vm.picture import RESOURCE_QUOTAS, Picture, machine_of
from flexlet.core.vm.scene import Refusal, Scene
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.sights import LauncherPod
from flexlet.core.vm.step import Step
from flexlet.core.vm.tally import Tally
from flexlet.core.vm.watching import Watch

FOLLOWS: Final = (names.FLEX_VMS, names.MIGRATIONS, PODS, NODES, NODE_SIZES, RESOURCE_QUOTAS)
"""What it wants to be told of."""
_REFUSALS: Final = frozenset({400, 403, 422})
_HELD_S: Final = 0.25
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
        self._queue = WorkQueue()
        self.picture = Picture(self.settings, self.tally, self._queue.add, self._queue.forgive)
        self.picture.on_pods = self._ring
        self._reported: dict[str, float] = {}
        self._orders: list[tuple[Launcher, Order]] = []
        self._count = 0
        self.on_order: Callable[[], None] = lambda: None
        """Called when there are orders to take, or other launchers to talk to."""

    def _ring(self) -> None:
        self.on_order()

    # ---- learning

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw):
                self.picture.seen(ref, raw)
            case Vanished():
                self.picture.vanished(observation)
            case Failed():
                self._failed(observation)
            case _:
                pass

    def _failed(self, failed: Failed) -> None:
        action = failed.action
        if not isinstance(action, PatchObject | CreateObject | DeleteObject) or not action.on_behalf_of:
            return
        key = action.on_behalf_of
        is_resize = isinstance(action, PatchObject) and action.subresource == "resize"
        if isinstance(action, CreateObject) and action.ref == PODS and failed.code in _REFUSALS:
            self.picture.troubles[key] = failed.message
        if is_resize and failed.code in _REFUSALS:
            self.picture.refusals[key] = Refusal(action.reason, failed.code, failed.message)
            self._queue.add(key)
        elif not (isinstance(action, CreateObject) and failed.code == 409):
            self._queue.refused(key)

    # ---- launchers

    def launchers(self) -> frozenset[Launcher]:
        """Lines that should be open."""
        return frozenset(
            _launcher(pod)
            for pods in self.picture.pods.values()
            for pod in pods.values()
            if pod.phase == "Running" and pod.owner
        )

    def take_orders(self) -> list[tuple[Launcher, Order]]:
        """What launchers are to be told, which is told with that."""
        taken, self._orders = self._orders, []
        return taken

    def learn_report(self, launcher: Launcher, report: Report, now: float) -> None:
        """A machine as it is."""
        key = self.picture.key_of.get(launcher.uid, "")
        if not key:
            return
        watch = self.picture.watches.setdefault(launcher.uid, Watch())
        watch.heard = watching.heard(watch.heard, report, now)
        self.tally.sampled(launcher.uid, report.resident)
        pod = self.picture.pods[key].get(launcher.uid)
        if pod is not None:
            self.picture.verify(key, pod)
        self._queue.add(key)

    def lost_line(self, launcher: Launcher, now: float) -> None:
        """Nobody answers, and orders that were not answered may not have arrived."""
        del now
        watch = self.picture.watches.get(launcher.uid)
        key = self.picture.key_of.get(launcher.uid, "")
        if watch is not None and watch.heard is not None and key:
            watch.heard = watch.told = None
            watch.devices.clear()
            self._queue.add(key)

    # ---- deciding

    def decide(self, now: float) -> ApiPlan:
        """What the machines that are due need."""
        actions: list[ApiAction] = []
        for key in self._queue.take(now):
            if self._queue.held(key):
                self._queue.add_at(key, now + _HELD_S)
                continue
            found = self._queue.attempt(key, partial(self._look, key, now))
            actions += found
            if not found:
                self._queue.forgive(key)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def scene(self, namespace: str, name: str) -> Scene | None:
        """All that is known of a machine."""
        return self.picture.scene(namespace, name)

    def _look(self, key: str, now: float) -> Iterator[ApiAction]:
        namespace, _, name = key.partition("/")
        scene = self.scene(namespace, name)
        if scene is None:
            self._reported.pop(key, None)
            moves = [move for move in self.picture.migrations.values() if machine_of(move) == key]
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
        self.picture.looked(scene)
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
        watch = self.picture.watches.get(pod.uid)
        if watch is None or watch.heard is None or watch.heard.at in watch.devices.values():
            return
        order = devices.next_order(scene, watch.devices)
        if order is not None:
            watch.devices[order.id] = watch.heard.at
            self._orders.append((_launcher(pod), order))
            self.on_order()

    def _move(self, scene: Scene, now: float) -> Iterator[ApiAction]:
        """What its migrations need."""
        heard = {
            pod.uid: self.picture.watches[pod.uid].heard for pod in scene.pods if pod.uid in self.picture.watches
        }
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
        self.picture.watches[pod.uid].told = new
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


def _launcher(pod: LauncherPod) -> Launcher:
    return Launcher(pod.namespace, pod.name, pod.uid, pod.node)
