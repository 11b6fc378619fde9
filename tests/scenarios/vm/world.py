"""A small cluster with virtual machines on the embedded API server, in simulated time.

Nodes are hollow: they grant, defer and refuse resizes by the rules of real ones. Launchers are simulated, with a
temper each. The node can be put to sleep, and the controller and the lines to launchers be killed at any moment.
Whatever happens, `Eyes` look at every instant at which a pod or a machine changes.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from tests.scenarios.nodesize.world import Ahead

from flexlet.adapters.sim.launcher import SimLaunchers, SimVm
from flexlet.adapters.sim.launcherguest import SimGuest
from flexlet.adapters.sim.launchertemper import Temper
from flexlet.api import decode
from flexlet.api.pod import Pod
from flexlet.api.quantity import Quantity
from flexlet.api.status import ApiError, NotFound, Status
from flexlet.api.units import GIB, MIB
from flexlet.apiserver.admission.resource_quota import counting_of
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apiserver.housekeeping.quota import QuotaKeeper
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.upkeep import namespaced
from flexlet.core.gates import Gates
from flexlet.core.hollow import podstatus
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import Machine
from flexlet.core.refs import NODES, PODS
from flexlet.core.resize import allocation
from flexlet.core.vm import exposition, manifest, names
from flexlet.core.vm.decider import FOLLOWS, VmDecider
from flexlet.core.vm.guest import Report
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.tally import Tally
from flexlet.core.vm.wanted import wanted
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Decider, Loop
from flexlet.engine.recorder import Recorder
from flexlet.engine.vm.keeper import LinkKeeper
from flexlet.ports import cluster as ports
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Ref
from flexlet.testing.cluster import SimCluster, serving
from flexlet.testing.simtime import SimClock, idle

Json = dict[str, Any]

VMS: Final = Ref(*names.FLEX_VMS)
MIGRATIONS: Final = Ref(*names.MIGRATIONS)
LIMIT_RANGES: Final = Ref("", "v1", "limitranges")
QUOTAS: Final = Ref("", "v1", "resourcequotas")
NODE: Final = "n1"
VM: Final = "db"
NAMESPACE: Final = "default"
AT_ONCE: Final = 100
"""More patches of one object at one instant than a controller has reason for."""
MARGIN: Final = 100 * MIB
"""What a hollow node keeps for eviction: its allocatable is that much smaller than its machine."""
_MANIFESTS: Final = Path(__file__).parents[3] / "src/flexlet/manifests"
_KINDS: Final = {
    "20-nodesize.yaml": Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "25-flexvm.yaml": Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "30-priority.yaml": Ref("scheduling.k8s.io", "v1", "priorityclasses"),
}


def spec(vcpus: int = 4, guest: str = "8Gi", **parts: Any) -> Json:
    """The VM of vm-resize.md §12; `parts` are merged into the domain, `policy` is the resize policy."""
    policy, run = parts.pop("policy", {}), parts.pop("run", {})
    domain: Json = {
        "cpu": {"sockets": vcpus, "maxSockets": 16},
        "memory": {"minGuest": "4Gi", "guest": guest, "maxGuest": "16Gi"},
        "devices": {"autoattachGraphicsDevice": True},
    }
    for key, more in parts.items():
        domain[key] = {**domain.get(key, {}), **more}
    return {"resizePolicy": policy, "template": {"spec": {"domain": domain}}, **run}


class Launchers(SimLaunchers):
    """Launchers whose machines are looked at whenever they report."""

    def __init__(self, sim: SimCluster, tempers: dict[str, Temper]) -> None:
        super().__init__(sim.cluster, sim.clock)
        self.tempers = tempers
        self.on_look: Callable[[SimVm, Report], None] = lambda _vm, _report: None

    def temper_of(self, pod: Json) -> Temper:
        """As was told for the VM."""
        return self.tempers.setdefault(pod["metadata"]["labels"][names.LABEL], Temper())

    async def look(self, vm: SimVm) -> Report:
        """What there is to report, seen by others too."""
        report = await super().look(vm)
        self.on_look(vm, report)
        return report


class Eyes:
    """Looks at every launcher pod and its machine whenever one of them changes."""

    def __init__(self, stage: "World") -> None:
        self._stage = stage
        self.sizes: dict[str, list[str]] = {}
        """By VM: every size its pod was asked to have, in order, as ``cpu/memory``."""
        self.faults: list[str] = []
        self.restarts: dict[str, set[str]] = {}
        """By VM: uids of all its pods."""
        self.vm_of: dict[str, str] = {}
        """The VM of each pod that ever was."""

    async def run(self) -> None:
        """Until cancelled."""
        cluster = self._stage.sim.cluster
        listing = await cluster.list(ports.PODS)
        async for batch in cluster.watch(ports.PODS, listing.resource_version):
            for change in batch:
                pod = msgspec.json.decode(change.object)
                meta = pod["metadata"]
                vm = meta.get("labels", {}).get(names.LABEL)
                if vm:
                    self.vm_of[meta["name"]] = vm
                if vm and change.type == "DELETED":
                    self._stage.launchers.gone(meta["namespace"], meta["name"], meta["uid"])
                elif vm:
                    self._see(vm, pod)

    def _see(self, vm: str, pod: Json) -> None:
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        size = f"{requests['cpu']}/{in_mib(requests['memory'])}"
        known = self.sizes.setdefault(vm, [])
        self.restarts.setdefault(vm, set()).add(pod["metadata"]["uid"])
        if not known or known[-1] != size:
            known.append(size)
        guest = self._stage.launchers.guest(pod["metadata"]["namespace"], pod["metadata"]["name"])
        if guest is not None and self._stage.uid_of(pod["metadata"]["name"]) == pod["metadata"]["uid"]:
            self.check(vm, pod, guest)

    def check(self, vm: str, pod: Json, guest: SimGuest) -> None:
        """The pod holds what the machine has and may take without being asked again; there is only one machine."""
        running = [name for name in self._stage.machines(vm) if name != pod["metadata"]["name"]]
        if guest.state == "Running" and running:
            self.faults.append(f"{self._stage.elapsed:.2f} s: {vm} runs in {running} too")
        asked = self._stage.specs.get(vm)
        statuses = pod["status"].get("containerStatuses") or [{}]
        held = statuses[0].get("allocatedResources")
        if asked is None or held is None or guest.state not in {"Starting", "Running"}:
            return
        memory = max(guest.memory, guest.ram.base + guest.ram.asked)
        wish = wanted(asked, self._stage.settings)
        has = msgspec.structs.replace(wish, has_vfio=bool(guest.devices))
        wants = need(has, guest.vcpus, memory, self._stage.settings)
        for resource, missing in lacking(wants, held, statuses[0].get("resources", {})).items():
            self.faults.append(
                f"{self._stage.elapsed:.2f} s: the pod of {vm} lacks {missing} of {resource}"
                f" for {guest.vcpus} vCPUs and {memory / GIB:g} Gi"
            )


def lacking(wants: Need, held: Json, actual: Json) -> dict[str, int]:
    """By how much a pod is too small for what it must hold."""
    limits = actual.get("limits", {})
    short = {
        "cpu": wants.cpu_m - Quantity.parse(held["cpu"]).milli,
        "memory": wants.memory - Quantity.parse(held["memory"]).value,
    }
    if "memory" in limits and wants.memory_limit is not None:
        short["memory limit"] = wants.memory_limit - Quantity.parse(limits["memory"]).value
    return {resource: missing for resource, missing in short.items() if missing > 0}


class Flaky(LocalCluster):
    """A server that has trouble with the next patches of pods, and with those who never let it rest."""

    def __init__(self, cluster: LocalCluster, clock: Clock) -> None:
        super().__init__(cluster._rest)
        self.errors = 0
        self._clock = clock
        self._at, self._patches = 0.0, Counter[str]()

    def _count(self, name: str) -> None:
        """No time passes while somebody quarrels with itself, and so it would never end."""
        now = self._clock.now()
        if self._at != now:
            self._at, self._patches = now, Counter()
        self._patches[name] += 1
        assert self._patches[name] <= AT_ONCE, f"{name} is patched again and again, with no time in between"

    async def patch(self, ref: Ref, namespace: str, name: str, patch: Any, **parts: Any) -> bytes:
        """Fails as often as it is to."""
        self._count(name)
        if self.errors and ref == ports.PODS:
            self.errors -= 1
            raise ApiError(Status(code=503, reason="ServiceUnavailable", message="etcdserver: leader changed"))
        return await super().patch(ref, namespace, name, patch, **parts)


class World:
    """One server, some nodes, one controller at a time."""

    def __init__(self, sim: SimCluster, nodes: tuple[str, ...], of: Machine, settings: Settings) -> None:
        self.sim = sim
        self.nodes = nodes
        self.machine = of
        self.settings = settings
        self.specs: dict[str, FlexVM] = {}
        self.tempers: dict[str, Temper] = {}
        self.launchers = Launchers(sim, self.tempers)
        self.launchers.on_look = self._looked
        self.eyes = Eyes(self)
        self.tally = Tally()
        self.decider = VmDecider(settings, self.tally)
        self.api = Flaky(sim.cluster, sim.clock)
        self._began = sim.clock.now()
        self._node: asyncio.Task[None] | None = None
        self._controller: asyncio.Task[None] | None = None
        self._others: list[asyncio.Task[None]] = []

    @property
    def elapsed(self) -> float:
        """Simulated seconds since the world began."""
        return self.sim.clock.now() - self._began

    # ---- the node and the controller

    def begin(self) -> None:
        """Nodes, scheduler, who counts quotas, and eyes."""
        self.wake_node()
        kinds, gates = self.sim.rest.registry, Gates()
        quotas = QuotaKeeper(
            self.sim.cluster, self.sim.clock, lambda: namespaced(kinds), counting_of(gates.enabled)
        )
        self.run(self.eyes.run(), self.sim.schedule(), quotas.run())

    def wake_node(self) -> None:
        fleet = Fleet(self.nodes, self.machine, "test")
        self._node = asyncio.create_task(self.loop(fleet, (NODES, PODS)).run())

    async def sleep_node(self) -> None:
        await over(self._node)

    def start_controller(self) -> None:
        self.decider = VmDecider(self.settings, self.tally)
        self._controller = asyncio.create_task(self._control(self.decider))

    async def _control(self, decider: VmDecider) -> None:
        loop = self.loop(decider, FOLLOWS, self.api)
        keeper = LinkKeeper(decider, self.launchers, self.sim.clock, loop.wake)
        async with asyncio.TaskGroup() as group:
            group.create_task(loop.run())
            group.create_task(keeper.run())

    async def kill_controller(self) -> None:
        await over(self._controller)

    def beside(self, decider: Decider, follows: tuple[tuple[str, str, str], ...]) -> None:
        """Run another controller."""
        self.run(self.loop(decider, follows).run())

    def run(self, *parts: Coroutine[Any, Any, None]) -> None:
        """Run these until the end."""
        self._others += [asyncio.create_task(part) for part in parts]

    async def end(self) -> None:
        await self.kill_controller()
        await self.sleep_node()
        for task in self._others:
            await over(task)

    def loop(
        self, decider: Decider, follows: tuple[tuple[str, str, str], ...], api: "Flaky | None" = None
    ) -> Loop:
        cluster, clock = self.sim.cluster, self.sim.clock
        feeds = [Feed(cluster, clock, Ref(*ref)) for ref in follows]
        recorder = Recorder(cluster, Ahead(clock, len(decider.name) * 1e-4))
        return Loop(decider, feeds, Executor(api or cluster, recorder), clock)

    # ---- what is looked at

    def _looked(self, vm: SimVm, _report: Report) -> None:
        self._others.append(asyncio.ensure_future(self._check(vm)))
        self._others = [task for task in self._others if not task.done() or task.cancelled() or task.exception()]

    async def _check(self, vm: SimVm) -> None:
        pod = await self.get(ports.PODS, vm.key[1], vm.key[0])
        if pod is not None and pod["metadata"]["uid"] == vm.uid:
            self.eyes.check(pod["metadata"]["labels"][names.LABEL], pod, vm.guest)

    def machines(self, vm: str) -> list[str]:
        """Pods in which the machine of a VM runs: one, or none."""
        found = self.launchers.guests().items()
        return [pod for (_, pod), guest in found if self.eyes.vm_of.get(pod) == vm and guest.state == "Running"]

    def place(self, vm: str) -> str:
        """The pod in which a VM runs, or would."""
        return next(iter(self.machines(vm)), manifest.name_of(vm))

    def uid_of(self, pod: str) -> str:
        vm = self.launchers._vms.get((NAMESPACE, pod))
        return vm.uid if vm else ""

    # ---- what users and others do

    async def apply(self, body: Json, vm: str = VM, **metadata: Any) -> None:
        """Create a FlexVM, or change its spec."""
        whole = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": vm, **metadata},
            "spec": body,
        }
        if await self.get(VMS, vm) is None:
            raw = await self.sim.cluster.create(VMS, NAMESPACE, whole)
        else:
            raw = await self.sim.cluster.patch(VMS, NAMESPACE, vm, {"metadata": metadata, "spec": body})
        self.specs[vm] = decode.from_json(raw, FlexVM)

    async def resize(self, vm: str = VM, vcpus: int | None = None, memory: str | None = None) -> None:
        """What a user changes to make a VM bigger or smaller."""
        domain: Json = {}
        if vcpus is not None:
            domain["cpu"] = {"sockets": vcpus}
        if memory is not None:
            domain["memory"] = {"guest": memory}
        await self.apply({"template": {"spec": {"domain": domain}}}, vm)

    async def remove_vm(self, vm: str = VM) -> None:
        self.specs.pop(vm, None)
        await self.sim.cluster.delete(VMS, NAMESPACE, vm, {})

    async def add(
        self, name: str, gib: float, cpu: str = "0", node: str = NODE, namespace: str = NAMESPACE
    ) -> None:
        """A workload, bound already."""
        requests = {"cpu": cpu, "memory": str(int(gib * GIB))}
        container = {"name": "c", "image": "app", "resources": {"requests": requests}}
        body: Json = {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [container]}}
        await self.sim.cluster.create(ports.PODS, namespace, body)

    async def remove(self, name: str) -> None:
        await self.sim.cluster.delete(ports.PODS, NAMESPACE, name, {"gracePeriodSeconds": 0})

    async def quota(self, memory: str | None) -> None:
        """A quota of memory requests in the namespace; None takes it away."""
        with contextlib.suppress(NotFound):
            await self.sim.cluster.delete(QUOTAS, NAMESPACE, "q", {})
        if memory is not None:
            body = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.memory": memory}}}
            await self.sim.cluster.create(QUOTAS, NAMESPACE, body)

    async def limit_range(self, memory: str) -> None:
        """No container may ask for more."""
        limits = [{"type": "Container", "max": {"memory": memory}}]
        await self.sim.cluster.create(
            LIMIT_RANGES, NAMESPACE, {"metadata": {"name": "l"}, "spec": {"limits": limits}}
        )

    async def node_says(
        self,
        pending: str = "",
        in_progress: str = "",
        message: str = "",
        allocated: dict[str, str] | None = None,
        vm: str = VM,
    ) -> None:
        """A sleeping node's answer to a resize, given by hand."""
        pod = await self.pod(vm)
        kept = [c for c in pod["status"]["conditions"] if not c["type"].startswith("PodResize")]
        made = [
            {"type": kind, "status": "True", "reason": reason, "message": message}
            for kind, reason in (("PodResizePending", pending), ("PodResizeInProgress", in_progress))
            if reason
        ]
        status: Json = {"conditions": [*kept, *made], "observedGeneration": pod["metadata"]["generation"]}
        if allocated:
            known = pod["status"]["containerStatuses"][0]
            status["containerStatuses"] = [{**known, "allocatedResources": allocated}]
        await self.sim.cluster.patch(
            ports.PODS, NAMESPACE, manifest.name_of(vm), {"status": status}, subresource="status"
        )

    async def node_runs(self, vm: str = VM) -> None:
        """A sleeping node that has started or resized the launcher, told by hand."""
        pod = decode.from_json(await self.sim.cluster.get(ports.PODS, NAMESPACE, manifest.name_of(vm)), Pod)
        status = podstatus.running(pod, allocation.of_spec(pod), ip="10.0.0.9", now=self.sim.clock.now())
        await self.sim.cluster.patch(
            ports.PODS, NAMESPACE, manifest.name_of(vm), {"status": status}, subresource="status"
        )

    def reset(self, vm: str = VM) -> None:
        self.launchers.reset(NAMESPACE, self.place(vm))

    async def crash(self, vm: str = VM, exit_code: int = 139) -> None:
        await self.launchers.crash(NAMESPACE, self.place(vm), exit_code)

    def cut(self, vm: str = VM, *, restarted: bool = False) -> None:
        self.launchers.cut(NAMESPACE, self.place(vm), restarted=restarted)

    def temper(self, vm: str = VM) -> Temper:
        """The temper of a VM's machines, to be changed."""
        return self.tempers.setdefault(vm, Temper())

    # ---- what is seen

    async def get(self, ref: Ref, name: str, namespace: str = NAMESPACE) -> Json | None:
        try:
            found: Json = msgspec.json.decode(await self.sim.cluster.get(ref, namespace, name))
        except NotFound:
            return None
        return found

    async def objects(self, ref: Ref) -> list[Json]:
        return [msgspec.json.decode(raw) for raw in (await self.sim.cluster.list(ref)).items]

    async def launcher_pods(self) -> list[Json]:
        return [pod for pod in await self.objects(ports.PODS) if names.LABEL in pod["metadata"].get("labels", {})]

    async def until(self, holds: Callable[[Json], bool], vms: Iterable[str]) -> None:
        """Wait until the status of each is so, for at most a minute."""
        left = set(vms)
        for _ in range(600):
            left = {vm for vm in left if not holds(await self.status(vm))}
            if not left:
                return
            await self.settle(0.1)
        raise AssertionError(f"still waiting for {sorted(left)}")

    async def vm(self, vm: str = VM) -> Json:
        found = await self.get(VMS, vm)
        assert found is not None
        return found

    async def status(self, vm: str = VM) -> Json:
        status: Json = (await self.vm(vm)).get("status", {})
        return status

    async def conditions(self, vm: str = VM) -> dict[str, Json]:
        return {each["type"]: each for each in (await self.status(vm)).get("conditions", [])}

    async def pod(self, vm: str = VM) -> Json:
        found = await self.get(ports.PODS, self.place(vm))
        assert found is not None, f"{vm} has no launcher"
        return found

    def guest(self, vm: str = VM) -> SimGuest:
        found = self.launchers.guest(NAMESPACE, self.place(vm))
        assert found is not None, f"{vm} has no machine"
        return found

    async def events(self, vm: str = VM) -> list[tuple[str, str]]:
        """Reasons and messages about a VM."""
        found = await self.sim.events(NAMESPACE)
        about = [e for e in found if e["involvedObject"]["kind"] == names.KIND]
        return [(e["reason"], e["message"]) for e in about if e["involvedObject"]["name"] == vm]

    def metrics(self) -> str:
        return exposition.render(self.tally)

    async def settle(self, seconds: float = 1.0) -> None:
        await self.sim.clock.sleep(seconds)
        await idle()


@asynccontextmanager
async def world(
    of: Machine | None = None, settings: Settings | None = None, nodes: tuple[str, ...] = (NODE,)
) -> AsyncIterator[World]:
    """A world with its nodes awake and no controller yet."""
    clock = SimClock()
    async with serving(clock) as sim:
        definitions = Definitions(sim.rest, sim.cluster, clock)
        await definitions.load()
        for file, ref in _KINDS.items():
            for body in yaml.safe_load_all((_MANIFESTS / file).read_text()):
                await sim.cluster.create(ref, "", body)
        made = World(sim, nodes, of or machine(32), settings or Settings())
        made.begin()
        await made.settle()
        try:
            yield made
        finally:
            await made.end()


def machine(gib: float, cpus: int = 16) -> Machine:
    """The machine of a node with this allocatable."""
    return Machine(cpus=cpus, memory=int(gib * GIB) + MARGIN)


async def over(task: "asyncio.Task[None] | None") -> None:
    if task is not None and not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    elif task is not None and not task.cancelled():
        task.result()


def in_mib(text: str) -> str:
    """Bytes in whole MiB, rounded up as people round what is needed."""
    return f"{-(-Quantity.parse(text).value // MIB)}Mi"
