"""All that is known of virtual machines and of what they run on: folded in, and handed out as scenes.

Whatever changes makes machines due, which `touch` tells; `forgive` lets one try again at once what was refused.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.quota import ResourceQuota
from flexlet.core.actions import Ref
from flexlet.core.nodesize import sights as nodesights
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.names import NODE_SIZES
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.observations import Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.vm import names, sights, validation, wanted, watching
from flexlet.core.vm.objects import AT_REST, FlexVM, FlexVMMigration
from flexlet.core.vm.quotanews import QuotaNews
from flexlet.core.vm.scene import Refusal, Scene
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.sights import LauncherPod, NodeSight
from flexlet.core.vm.tally import Tally
from flexlet.core.vm.watching import Basis, Watch
from flexlet.errors import InputError

RESOURCE_QUOTAS: Final[Ref] = ("", "v1", "resourcequotas")


class Picture:
    """What was seen, by namespace/name of the machine or by uid of the pod."""

    def __init__(
        self, settings: Settings, tally: Tally, touch: Callable[[str], None], forgive: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._tally = tally
        self._touch = touch
        self._forgive = forgive
        self.on_pods: Callable[[], None] = lambda: None
        """Called when launcher pods come, go or change."""
        self.vms: dict[str, FlexVM] = {}
        self.pods: dict[str, dict[str, LauncherPod]] = {}
        self.key_of: dict[str, str] = {}
        """Of a launcher pod: its machine."""
        self.watches: dict[str, Watch] = {}
        self.migrations: dict[str, FlexVMMigration] = {}
        self.refusals: dict[str, Refusal] = {}
        self.troubles: dict[str, str] = {}
        """Why a launcher pod could not be made."""
        self._nodes: dict[str, NodeSight] = {}
        self._sizes: dict[str, NodeSize] = {}
        self._taken: dict[str, tuple[str, Amounts]] = {}
        self._quotas: dict[tuple[str, str], ResourceQuota] = {}
        self._news = QuotaNews()
        self._resized: set[str] = set()
        """Machines whose node has another size since they were last looked at."""
        self._killed: set[str] = set()

    # ---- learning

    def seen(self, ref: Ref, raw: bytes) -> None:
        """An object was added or changed."""
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

    def vanished(self, gone: Vanished) -> None:
        """An object was deleted."""
        key = f"{gone.namespace}/{gone.name}"
        if gone.ref == PODS:
            self._pod_gone(gone.uid)
        elif gone.ref == names.FLEX_VMS:
            self._vm_gone(key)
        elif gone.ref == names.MIGRATIONS:
            known = self.migrations.pop(gone.uid, None)
            self._touch(machine_of(known) if known else key)
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
        before = self.vms.get(key)
        self.vms[key] = vm
        if before is None or before.metadata.generation != vm.metadata.generation:
            self._forgive(key)
        if before != vm:
            self._touch(key)

    def _vm_gone(self, key: str) -> None:
        self.vms.pop(key, None)
        self._tally.forget(key)
        self._news.forget(key)
        self.refusals.pop(key, None)
        self.troubles.pop(key, None)
        self._forgive(key)
        self._touch(key)

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
        known = self.pods.setdefault(key, {})
        if known.get(uid) != new:
            known[uid] = new
            self.key_of[uid] = key
            self._touch(key)
            self._count_oom(key, new)
            self.verify(key, new)
            self.on_pods()

    def _pod_gone(self, uid: str) -> None:
        self._taken.pop(uid, None)
        key = self.key_of.pop(uid, "")
        if key:
            self.pods[key].pop(uid, None)
            self.watches.pop(uid, None)
            self._killed.discard(uid)
            self._tally.forget_pod(uid)
            self._touch(key)
            self.on_pods()

    def _migration_seen(self, migration: FlexVMMigration) -> None:
        if self.migrations.get(migration.metadata.uid) != migration:
            self.migrations[migration.metadata.uid] = migration
            self._touch(machine_of(migration))

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
        for key, pods in self.pods.items():
            vm = self.vms.get(key)
            is_waiting = vm is not None and vm.status.resize is not None and vm.status.resize.phase not in AT_REST
            if is_waiting and any(pod.node == name for pod in pods.values()):
                self._touch(key)
                found.add(key)
        return found

    def _quota_seen(self, quota: ResourceQuota) -> None:
        where = quota.metadata.namespace, quota.metadata.name
        before = self._quotas.get(where)
        self._quotas[where] = quota
        if before is None or (before.spec, before.status) != (quota.spec, quota.status):
            self._quota_moved(quota.metadata.namespace)

    def _quota_moved(self, namespace: str) -> None:
        """It is news to every machine there: an attempt may be on its way that the quota as it was refuses."""
        for key, vm in self.vms.items():
            if vm.metadata.namespace != namespace:
                continue
            self._news.moved(key)
            is_under_way = vm.status.resize is not None and vm.status.resize.phase not in AT_REST
            if is_under_way or key in self.troubles:
                self._forgive(key)
                self._touch(key)

    # ---- what must never be

    def verify(self, key: str, pod: LauncherPod) -> None:
        """Count what must never be: a pod with less than its guest needs."""
        vm, watch = self.vms.get(key), self.watches.get(pod.uid)
        if vm is None or watch is None:
            return
        basis = Basis(wanted.wanted(vm, self._settings), _corrected(vm))
        if watching.is_violated(watch, pod, basis, self._settings):
            self._tally.violations += 1

    def _count_oom(self, key: str, pod: LauncherPod) -> None:
        vm = self.vms.get(key)
        resize = vm.status.resize if vm else None
        if pod.is_over and pod.is_oom and pod.uid not in self._killed and resize is not None:
            self._killed.add(pod.uid)
            self._tally.ooms += resize.phase not in {*AT_REST, "Failed"}

    # ---- showing

    def looked(self, scene: Scene) -> None:
        """News that a machine was looked at with are none any more."""
        self.refusals.pop(scene.key, None)
        self._news.looked(scene)
        self._resized.discard(scene.key)
        if scene.pod is not None:
            self.troubles.pop(scene.key, None)

    def scene(self, namespace: str, name: str) -> Scene | None:
        """All that is known of a machine."""
        key = f"{namespace}/{name}"
        vm = self.vms.get(key)
        if vm is None:
            return None
        mine = [p for p in self.pods.get(key, {}).values() if p.owner == vm.metadata.uid]
        wish = wanted.wanted(vm, self._settings)
        scene = Scene(
            vm=vm,
            wanted=wish,
            boot=wanted.machine(vm, self._settings),
            settings=self._settings,
            pods=tuple(sorted(mine, key=lambda p: (p.created, p.uid))),
            refusal=self.refusals.get(key),
            trouble=self.troubles.get(key, ""),
            complaints=tuple(str(c) for c in validation.complaints(vm, self._settings)),
            quota_news=self._news.of(key),
            node_changed=key in self._resized,
            migrations=tuple(m for m in self.migrations.values() if machine_of(m) == key),
        )
        return self._about_pod(scene)

    def _about_pod(self, scene: Scene) -> Scene:
        """With what its launcher says, and what is known of its node."""
        pod = scene.pod
        if pod is None:
            return scene
        watch, status = self.watches.get(pod.uid, Watch()), scene.vm.status
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
        resident = self._tally.resident(pod.uid)
        known = _corrected(scene.vm)
        corrected = watching.correction(scene.wanted, found.report, known, resident, self._settings)
        return msgspec.structs.replace(found, correction=corrected)

    def _others(self, pod: LauncherPod) -> Amounts:
        here = (taken for uid, (node, taken) in self._taken.items() if node == pod.node and uid != pod.uid)
        return sizes.total(here)


def _key(vm: FlexVM) -> str:
    return f"{vm.metadata.namespace}/{vm.metadata.name}"


def machine_of(migration: FlexVMMigration) -> str:
    """namespace/name of the machine that moves."""
    return f"{migration.metadata.namespace}/{migration.spec.vm_name}"


def _corrected(vm: FlexVM) -> int:
    memory = vm.status.memory
    return memory.overhead_correction.value if memory and memory.overhead_correction else 0
