"""Keeps virtual machines running, and as big as they should be, by resizing their pods in place."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.nodesize.names import NODE_SIZES
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import manifest, names
from flexlet.core.vm.guest import Order, Report
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.overhead import overhead
from flexlet.core.vm.podsize import need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted

RESOURCE_QUOTAS: Final = ("", "v1", "resourcequotas")
FOLLOWS: Final = (names.FLEX_VMS, names.MIGRATIONS, PODS, NODES, NODE_SIZES, RESOURCE_QUOTAS)
"""What it wants to be told of."""


class Launcher(msgspec.Struct, frozen=True):
    """The other end of a line: a launcher pod that runs."""

    namespace: str
    pod: str
    uid: str
    node: str


class VmDecider:
    """Owns the picture of virtual machines."""

    name = "flexvm"

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._vms: dict[str, FlexVM] = {}
        self._pods: dict[str, Pod] = {}
        self._reports: dict[str, Report] = {}
        self._orders: list[tuple[Launcher, Order]] = []
        self.on_order: Callable[[], None] = lambda: None
        """Called when there are orders to take, or other launchers to talk to."""
        self._queue = WorkQueue()

    # ---- learning

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == names.FLEX_VMS:
                vm = decode.from_json(raw, FlexVM)
                key = f"{vm.metadata.namespace}/{vm.metadata.name}"
                self._vms[key] = vm
                self._queue.add(key)
            case Seen(ref=ref, raw=raw) if ref == PODS:
                pod = decode.from_json(raw, Pod)
                if names.LABEL in pod.metadata.labels:
                    self._pods[pod.metadata.uid] = pod
                    self._queue.add(f"{pod.metadata.namespace}/{pod.metadata.labels[names.LABEL]}")
                    self.on_order()
            case Vanished(ref=ref, uid=uid) if ref == PODS and uid in self._pods:
                pod = self._pods.pop(uid)
                self._queue.add(f"{pod.metadata.namespace}/{pod.metadata.labels[names.LABEL]}")
            case _:
                pass

    def learn_report(self, launcher: Launcher, report: Report, now: float) -> None:
        """A machine as it is."""
        del now
        self._reports[launcher.uid] = report

    def lost_line(self, launcher: Launcher, now: float) -> None:
        """Nobody answers, and orders that were not answered may not have arrived."""
        del now
        self._reports.pop(launcher.uid, None)

    # ---- deciding

    def decide(self, now: float) -> ApiPlan:
        """What the machines that are due need."""
        actions = [action for key in self._queue.take(now) for action in self._look(key)]
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at)

    def launchers(self) -> frozenset[Launcher]:
        """Lines that should be open."""
        live = [p for p in self._pods.values() if p.status.phase == "Running"]
        return frozenset(
            Launcher(p.metadata.namespace, p.metadata.name, p.metadata.uid, p.spec.node_name) for p in live
        )

    def take_orders(self) -> list[tuple[Launcher, Order]]:
        """What launchers are to be told, which is told with that."""
        taken, self._orders = self._orders, []
        return taken

    def _look(self, key: str) -> Iterator[ApiAction]:
        vm = self._vms.get(key)
        if vm is None or vm.spec.run_strategy == "Halted" or vm.spec.running is False:
            return
        if any(p.metadata.labels.get(names.CREATED_BY) == vm.metadata.uid for p in self._pods.values()):
            return
        want = wanted(vm, self.settings)
        size = need(want, want.vcpus, want.memory, self.settings)
        beside = overhead(want, want.vcpus, want.memory, self.settings)
        body = manifest.launcher_pod(vm, want, machine(vm, self.settings), size, self.settings, overhead=beside)
        yield CreateObject(ref=PODS, namespace=vm.metadata.namespace, body=body, on_behalf_of=key)
