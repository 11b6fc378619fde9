"""Random histories: targets change, pods come and go, the controller dies, balloons vanish, machines grow.

What must always hold is looked at after every write to a pod: no running pod is ever ended by anybody but us, no
node has granted more than it has, and an inflate that a node refuses is taken back in time. Every wish is answered
within its deadline, as soon as there is a controller, and a node, to answer it. One node of the three is a
kubelet's as far as the controller can tell.
"""

import asyncio
from random import Random
from typing import Any, Final

import msgspec
from tests.scenarios.nodesize.answers import Answers
from tests.scenarios.nodesize.world import SIZES, World, machine, world

from flexlet.api.quantity import Quantity
from flexlet.api.status import ApiError
from flexlet.api.units import GIB
from flexlet.core.nodesize import manifest, names
from flexlet.ports import cluster as ports

Json = dict[str, Any]

NODES: Final = ("n1", "n2", "n3")
CPUS: Final = 15
MEMORY: Final = 60
DEADLINE_S: Final = 20
DRIFT_S: Final = 30
"""So long a stranger's wish is suffered from when a controller sees it, even one that the node defers."""
_SLACK_S: Final = 2.0


class Watcher:
    """Sees every change of every pod."""

    def __init__(self, stage: World) -> None:
        self._stage = stage
        self.pods: dict[str, Json] = {}
        self.waiting: dict[str, float] = {}
        self.faults: list[str] = []
        self.ended: set[str] = set()
        self.rejected = 0
        self.resizes = 0

    async def run(self) -> None:
        listing = await self._stage.sim.cluster.list(ports.PODS)
        async for batch in self._stage.sim.cluster.watch(ports.PODS, listing.resource_version):
            for change in batch:
                self._see(change.type, msgspec.json.decode(change.object))

    def _see(self, kind: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        before = self.pods.get(uid)
        if kind == "DELETED":
            self.pods.pop(uid, None)
            self.waiting.pop(uid, None)
            return
        self.pods[uid] = pod
        if is_balloon(pod):
            self._balloon(pod, before)
        elif pod["status"].get("phase") == "Failed":
            self._failed(pod, before)
        if pod["spec"].get("nodeName"):
            self._sum(pod["spec"]["nodeName"])

    def _failed(self, pod: Json, before: Json | None) -> None:
        if before and before["status"].get("phase") == "Running":
            self.faults.append(f"victim {pod['metadata']['name']}: {pod['status'].get('reason')}")
        elif not before or before["status"].get("phase") != "Failed":
            self.rejected += 1

    def _balloon(self, pod: Json, before: Json | None) -> None:
        uid, now = pod["metadata"]["uid"], self._stage.now
        spec = pod["spec"]["containers"][0]["resources"]["requests"]
        if before and before["spec"]["containers"][0]["resources"]["requests"] != spec:
            self.resizes += 1
            self.waiting.pop(uid, None)
        deferred = any(c["type"] == "PodResizePending" for c in pod["status"].get("conditions", []))
        if deferred:
            self.waiting.setdefault(uid, now)
        else:
            self.waiting.pop(uid, None)

    def check_waits(self, up_since: float) -> None:
        for since in self.waiting.values():
            if self._stage.now > max(since, up_since) + max(DEADLINE_S, DRIFT_S) + _SLACK_S:
                self.faults.append(f"an inflate waits since {self._stage.now - since} s")

    def _sum(self, node: str) -> None:
        cpu, memory = 0, 0
        for pod in self.pods.values():
            if pod["spec"].get("nodeName") == node and pod["status"].get("phase") == "Running":
                requests = pod["status"]["containerStatuses"][0]["allocatedResources"]
                cpu += Quantity.parse(requests["cpu"]).milli
                memory += Quantity.parse(requests["memory"]).value
        if cpu > CPUS * 1000 or memory > MEMORY * GIB:
            self.faults.append(f"{node} has granted {cpu}m and {memory / GIB} Gi")


def is_balloon(pod: Json) -> bool:
    return bool(pod["metadata"].get("labels", {}).get(names.LABEL) == "true")


class History:
    """One random life of a small cluster."""

    def __init__(self, stage: World, seed: int) -> None:
        self.stage = stage
        self.random = Random(seed)  # noqa: S311 a story told twice is the same story
        self.watcher = Watcher(stage)
        self.answers = Answers(stage)
        self.is_up, self.up_since = False, 0.0
        self._heard_at = 0.0
        self.kills = 0
        self._count = 0

    async def live(self, steps: int) -> None:
        parts = (self.watcher.run(), self.answers.run(), self.stage.sim.schedule())
        tasks = [asyncio.create_task(part) for part in parts]
        await self.stage.stock(node=NODES[-1])
        try:
            for _ in range(steps):
                await self._step()
                await self.stage.settle(self.random.choice([0.0, 0.001, 0.05, 0.5, 3.0]))
                up_since = self.up_since if self.is_up else self.stage.now
                self.watcher.check_waits(up_since)
                self.answers.check(max(up_since, self._heard_at))
            await self._calm()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.watcher.faults += self.answers.faults

    async def _step(self) -> None:
        deeds = [self._target] * 5 + [self._add] * 4 + [self._remove] * 4 + [self._kill, self._start, self._start]
        deeds += [self._burst, self._silence, self._hand]
        try:
            await self.random.choice(deeds)()
        except ApiError as error:
            if error.code not in {404, 409}:
                raise

    async def _target(self) -> None:
        kind = self.random.choice(["effective", "balloon"])
        amounts = {
            "cpu": f"{self.random.randrange(0, 16500, 250)}m",
            "memory": f"{self.random.randrange(0, 64)}Gi",
        }
        if self.random.random() < 0.3:
            amounts.pop(self.random.choice(["cpu", "memory"]))
        policy = self.random.choice(["Fail", "Partial", "Defer"])
        spec = {"target": {kind: amounts}, "onInsufficient": policy, "deadlineSeconds": DEADLINE_S}
        await self.stage.apply(spec, self.random.choice(NODES))

    async def _add(self) -> None:
        self._count += 1
        cpu, memory = self.random.choice([0.25, 0.5, 1, 2, 4]), self.random.choice([0.5, 1, 2, 4, 8, 16])
        await self.stage.add(f"p{self._count}", cpu, memory, node="")

    async def _burst(self) -> None:
        for _ in range(4):
            await self._add()

    async def _remove(self) -> None:
        names_ = [p["metadata"]["name"] for p in self.watcher.pods.values() if not is_balloon(p)]
        if names_:
            await self.stage.remove(self.random.choice(sorted(names_)))

    async def _kill(self) -> None:
        self.kills += self.is_up
        await self.stage.kill_controller()
        self.is_up = False
        if self.random.random() < 0.3:
            await self.stage.remove(manifest.name_of(self.random.choice(NODES)), names.NAMESPACE)

    async def _start(self) -> None:
        if not self.is_up:
            self.stage.start_controller()
            self.is_up, self.up_since = True, self.stage.now

    async def _silence(self) -> None:
        """The nodes say nothing for a while."""
        await self.stage.sleep_node()
        await self.stage.settle(self.random.choice([0.1, 2.0, 7.0]))
        self.stage.wake_node()
        self._heard_at = self.stage.now

    async def _hand(self) -> None:
        """Somebody resizes a balloon."""
        node = self.random.choice(NODES)
        await self.stage.resize(self.random.randrange(1, 15), self.random.randrange(1, 60), node)

    async def _calm(self) -> None:
        """Let everything come to rest; what is said then must be true."""
        await self._start()
        await self.stage.settle(DEADLINE_S + 80)
        for node in NODES:
            size = await self.stage.get(SIZES, node)
            if size is not None:
                self.watcher.faults += await self._untruths(node, size)

    async def _untruths(self, node: str, size: Json) -> list[str]:
        status, balloons = size["status"], await self.stage.balloons(node)
        conditions = {c["type"]: c["status"] for c in status["conditions"]}
        requests = balloons[0]["spec"]["containers"][0]["resources"]["requests"] if len(balloons) == 1 else {}
        is_met = status["balloon"]["allocated"] == status["balloon"]["desired"]
        if not balloons:
            return await self._excuses(node, conditions)
        claims = {
            "one balloon": len(balloons) == 1,
            "the status is of this generation": status["observedGeneration"] == size["metadata"]["generation"],
            "the status shows the balloon": status["balloon"]["allocated"] == requests,
            "nothing is under way": conditions["Resizing"] == "False",
            "what is missing is said": conditions["Insufficient"] == "True" or is_met,
            "nobody was promised too much": conditions["Overcommitted"] == "False",
            "the node is open": not await self.stage.taints(node),
        }
        return [f"{node}: not true that {claim}: {status}" for claim, holds in claims.items() if not holds]

    async def _excuses(self, node: str, conditions: dict[str, str]) -> list[str]:
        """A balloon that was deleted on a node that filled up meanwhile cannot come back: it stays closed."""
        pods = [p for p in await self.stage.pods() if p["status"].get("phase") != "Failed"]
        used = [p for p in pods if p["spec"].get("nodeName") == node]
        requests = [p["spec"]["containers"][0]["resources"]["requests"] for p in used]
        is_full = (
            sum(Quantity.parse(r["cpu"]).milli for r in requests) == CPUS * 1000
            or sum(Quantity.parse(r["memory"]).value for r in requests) == MEMORY * GIB
        )
        claims = {
            "the node is full": is_full,
            "it is said that the balloon is missing": conditions["BalloonMissing"] == "True",
            "the node is closed": await self.stage.taints(node) == [names.MISSING_TAINT],
        }
        return [f"{node}: not true that {claim}" for claim, holds in claims.items() if not holds]


async def live(seed: int, steps: int) -> History:
    """A whole history."""
    async with world(machine(CPUS, MEMORY), nodes=NODES) as stage:
        history = History(stage, seed)
        await history.live(steps)
        return history
