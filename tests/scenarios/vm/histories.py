"""Random histories: targets change, guests refuse and reboot, launchers and controllers die, pods come and go.

`Eyes` look at every instant: the pod always holds what the machine has and may take. In the end everything comes
to rest, and then each machine has what was wanted of it, or its status says why not, and that is true.
"""

from random import Random
from typing import Any, Final

from tests.scenarios.vm.world import MIGRATIONS, NAMESPACE, VMS, World, in_mib, machine, spec, world

from flexlet.api import decode
from flexlet.api.quantity import Quantity
from flexlet.api.status import ApiError
from flexlet.api.units import GIB, MIB
from flexlet.core.vm import validation
from flexlet.core.vm.objects import FlexVM
from flexlet.core.vm.podsize import need
from flexlet.core.vm.wanted import wanted
from flexlet.ports.cluster import PODS

Json = dict[str, Any]

NODES: Final = ("n1", "n2")
NAMES: Final = ("a", "b", "c")
NODE_GIB: Final = 32
QUIET_S: Final = 900
"""So long everything is left alone in the end: longer than any patience on the way."""
_FORGIVEN: Final = frozenset({403, 404, 409, 422})


class History:
    """One random life of a small cluster."""

    def __init__(self, stage: World, seed: int) -> None:
        self.stage = stage
        self.random = Random(seed)  # noqa: S311 a story told twice is the same story
        self.is_up = False
        self.wishes = self.kills = self.resets = self.crashes = self.cuts = self.moves = 0
        self.arrived = 0
        self.ends: dict[str, int] = {}
        self._count = 0
        self._pods: list[str] = []

    async def live(self, steps: int) -> None:
        """Everything, from the first machine to the last word."""
        await self._start()
        for name in NAMES:
            await self.stage.apply(spec(policy={"deferTimeout": "60s", "unplugTimeout": "20s"}), name)
        await self.stage.settle(3)
        for _ in range(steps):
            await self._step()
            await self.stage.settle(self.random.choice([0.0, 0.01, 0.3, 1.0, 5.0, 40.0]))
        await self._calm()

    async def _step(self) -> None:
        deeds = [self._target] * 6 + [self._temper] * 3 + [self._kill, self._start, self._start]
        deeds += [self._cut, self._reset, self._crash, self._add, self._add, self._remove, self._remove]
        deeds += [self._silence, self._quota, self._policy, self._flip, self._power, self._mute]
        deeds += [self._move, self._move, self._call_off]
        try:
            await self.random.choice(deeds)()
        except ApiError as error:
            if error.code not in _FORGIVEN:
                raise

    async def _target(self) -> None:
        memory = f"{self.random.randrange(3 * 1024, 18 * 1024, 512)}Mi"
        vcpus = self.random.randrange(1, 18)
        which = self.random.random()
        self.wishes += 1
        await self.stage.resize(
            self.random.choice(NAMES), vcpus if which < 0.7 else None, memory if which > 0.3 else None
        )

    async def _flip(self) -> None:
        """Several wishes before anybody has answered the first."""
        name = self.random.choice(NAMES)
        for memory in self.random.sample(["4Gi", "6Gi", "8Gi", "12Gi", "16Gi"], 3):
            self.wishes += 1
            await self.stage.resize(name, self.random.randrange(1, 9), memory)
            await self.stage.settle(self.random.choice([0.0, 0.05, 0.4]))

    async def _temper(self) -> None:
        temper = self.stage.temper(self.random.choice(NAMES))
        temper.keeps = self.random.choice([0, 0, 300 * MIB, GIB, 6 * GIB])
        temper.pinned = set(self.random.sample(range(1, 16), self.random.choice([0, 0, 1, 3])))
        temper.silent = set(self.random.sample(range(1, 16), self.random.choice([0, 0, 0, 1])))
        temper.cpu_failures = self.random.choice([0, 0, 1, 2, 5])
        temper.ram_failures = self.random.choice([0, 0, 1, 2, 5])
        temper.ram_rate = self.random.choice([256 * MIB, GIB, 8 * GIB])
        temper.has_agent = self.random.random() < 0.8
        temper.onlines = self.random.random() < 0.8

    async def _kill(self) -> None:
        self.kills += self.is_up
        await self.stage.kill_controller()
        self.is_up = False

    async def _start(self) -> None:
        if not self.is_up:
            self.stage.start_controller()
            self.is_up = True

    def _machine(self) -> str | None:
        """A VM that has a machine."""
        known = [name for name in NAMES if self.stage.machines(name)]
        return self.random.choice(known) if known else None

    async def _cut(self) -> None:
        name = self._machine()
        if name is not None:
            self.cuts += 1
            self.stage.cut(name, restarted=self.random.random() < 0.5)

    async def _mute(self) -> None:
        """A launcher answers nobody for a while."""
        key = NAMESPACE, self.stage.place(self.random.choice(NAMES))
        self.stage.launchers.silent.add(key)
        if key in self.stage.launchers.guests():
            self.stage.launchers.cut(*key)
        await self.stage.settle(self.random.choice([1.0, 20.0]))
        self.stage.launchers.silent.discard(key)

    async def _reset(self) -> None:
        name = self._machine()
        if name is not None:
            self.resets += 1
            self.stage.reset(name)

    async def _crash(self) -> None:
        name = self._machine()
        if name is not None:
            self.crashes += 1
            await self.stage.crash(name)

    async def _power(self) -> None:
        """Somebody deletes the pod, or stops the machine for a while."""
        name = self.random.choice(NAMES)
        if self.random.random() < 0.5:
            await self.stage.sim.cluster.delete(PODS, NAMESPACE, self.stage.place(name), {})
            return
        await self.stage.apply({"runStrategy": "Halted"}, name)
        await self.stage.settle(self.random.choice([0.0, 3.0]))
        await self.stage.apply({"runStrategy": "Always"}, name)

    async def _add(self) -> None:
        self._count += 1
        name = f"p{self._count}"
        await self.stage.add(name, self.random.choice([1, 2, 4, 8]), node=self.random.choice(NODES))
        self._pods.append(name)

    async def _remove(self) -> None:
        if self._pods:
            await self.stage.remove(self._pods.pop(self.random.randrange(len(self._pods))))

    async def _silence(self) -> None:
        """The nodes say nothing for a while."""
        await self.stage.sleep_node()
        await self.stage.settle(self.random.choice([0.1, 2.0, 15.0]))
        self.stage.wake_node()

    async def _quota(self) -> None:
        await self.stage.quota(self.random.choice([None, None, "24Gi", "32Gi", "48Gi"]))

    async def _policy(self) -> None:
        policy = {
            "fallback": self.random.choice(["Wait", "Restart", "Fail", "Migrate"]),
            "partialShrink": self.random.choice(["Accept", "Revert"]),
            "order": self.random.choice(["CpuFirst", "Parallel"]),
        }
        await self.stage.apply({"resizePolicy": policy}, self.random.choice(NAMES))

    async def _move(self) -> None:
        """Somebody wants a machine elsewhere."""
        self._count += 1
        self.moves += 1
        body = {"metadata": {"name": f"m{self._count}"}, "spec": {"vmName": self.random.choice(NAMES)}}
        await self.stage.sim.cluster.create(MIGRATIONS, NAMESPACE, body)

    async def _call_off(self) -> None:
        known = await self.stage.objects(MIGRATIONS)
        if known:
            name = self.random.choice(known)["metadata"]["name"]
            await self.stage.sim.cluster.delete(MIGRATIONS, NAMESPACE, name, {})

    # ---- the last word

    async def _calm(self) -> None:
        """Let everything come to rest; what is said then must be true."""
        await self._start()
        for name in NAMES:
            temper = self.stage.temper(name)
            temper.cpu_failures = temper.ram_failures = 0
        await self.stage.settle(QUIET_S)
        for move in await self.stage.objects(MIGRATIONS):
            phase = move.get("status", {}).get("phase")
            self.arrived += phase == "Succeeded"
            if phase not in {"Succeeded", "Failed"}:
                self.stage.eyes.faults.append(f"a move is still {phase}: {move}")
        pods = [pod["metadata"]["labels"]["vm.flexlet.io/name"] for pod in await self.stage.launcher_pods()]
        if len(pods) != len(set(pods)):
            self.stage.eyes.faults.append(f"launchers were left behind: {pods}")
        for name in NAMES:
            self.stage.eyes.faults += [f"{name}: not true that {each}" for each in await self._untruths(name)]

    async def _untruths(self, name: str) -> list[str]:
        raw = await self.stage.sim.cluster.get(VMS, NAMESPACE, name)
        vm, guest = decode.from_json(raw, FlexVM), self.stage.launchers.guest(NAMESPACE, self.stage.place(name))
        conditions = {c.type: c for c in vm.status.conditions}
        pod = await self.stage.get(PODS, self.stage.place(name))
        if guest is None or pod is None:
            return [] if _is_excused(conditions.get("Ready")) else [f"it runs or says why not: {vm.status}"]
        held = pod["status"]["containerStatuses"][0]["allocatedResources"]
        goal, has = wanted(vm, self.stage.settings), (guest.vcpus, guest.memory)
        needs = need(goal, *has, self.stage.settings)
        asked = need(goal, guest.vcpus, max(guest.memory, guest.ram.base + guest.ram.asked), self.stage.settings)
        status = vm.status
        resize, memory, topology = status.resize, status.memory, status.current_cpu_topology
        assert resize is not None
        is_there = has == (goal.vcpus, goal.memory)
        self.ends[resize.phase] = self.ends.get(resize.phase, 0) + 1
        excuses = [
            kind
            for kind in ("RestartRequired", "PartiallyResized")
            if conditions.get(kind) is not None and conditions[kind].status == "True"
        ]
        is_waiting = resize.phase in {"PodDeferred", "Failed"} and bool(resize.message)
        exact = Quantity.parse(held["cpu"]).milli, Quantity.parse(held["memory"]).value
        claims = {
            "the status is of this generation": status.observed_generation == vm.metadata.generation,
            "the status shows the guest's vCPUs": topology is not None and topology.sockets == guest.vcpus,
            "the status shows the guest's memory": memory is not None
            and memory.guest_current is not None
            and memory.guest_current.value == guest.memory,
            "the status shows the pod": status.pod is not None and status.pod.uid == pod["metadata"]["uid"],
            f"it has come to rest, not {resize.phase}": resize.phase in {"Idle", "Done", "Failed", "PodDeferred"},
            f"{has} is the target or excused ({resize.phase}, {resize.message!r}, {excuses})": is_there
            or bool(excuses)
            or is_waiting,
            f"the pod ({held['cpu']}, {in_mib(held['memory'])}) is as big as it needs to be": resize.phase
            == "PodDeferred"
            or exact in {(needs.cpu_m, needs.memory), (asked.cpu_m, asked.memory)},
            "an excuse is an excuse": not is_there or resize.phase in {"Done", "Idle"},
            "what cannot be had is said": not validation.complaints(vm, self.stage.settings) or bool(excuses),
        }
        return [claim for claim, holds in claims.items() if not holds]


def _is_excused(ready: Any) -> bool:
    return ready is not None and ready.status == "False" and bool(ready.message)


async def live(seed: int, steps: int) -> History:
    """A whole history."""
    async with world(machine(NODE_GIB), nodes=NODES) as stage:
        history = History(stage, seed)
        await history.live(steps)
        return history
