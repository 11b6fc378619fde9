"""The steps of the demo, in the order they are told."""

from typing import Any, Final

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.apps.demo.story import Step
from flexlet.apps.demo.world import DemoWorld, Told, Unshown, amount, container_ids
from flexlet.core.lab.plans import Refused
from flexlet.engine.lab import sizing

IMAGE: Final = "docker.io/flexlet/tools:latest"
PLUGGED_CPUS: Final = 2
AMOUNTS: Final = ("memory", "cpu")
_LOOP: Final = ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]


def pod(name: str, resources: dict[str, Any] | None = None, containers: int = 1) -> dict[str, Any]:
    """A pod that does nothing, politely."""
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "containers": [
            {"name": f"c{index}", "image": IMAGE, "imagePullPolicy": "Never", "command": _LOOP}
            for index in range(containers)
        ],
    }
    if resources:
        spec["resources"] = resources
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def start(world: DemoWorld) -> Told:
    """A pod with two containers that share what the pod has."""
    requests, limits = {"cpu": "200m", "memory": "128Mi"}, {"cpu": "500m", "memory": "256Mi"}
    await world.create(pod("team", {"requests": requests, "limits": limits}, containers=2))
    await world.running("team")
    return Told("no pod", "team: 2 containers running in 500m, 256Mi")


async def resize(world: DemoWorld) -> Told:
    """Pod-level resize; nothing restarts, and the kernel agrees."""
    before = await world.running("team")
    files = [await world.cgroup(before, name) for name in ("cpu.max", "memory.max")]
    await world.resize("team", {"limits": {"cpu": "1", "memory": "512Mi"}})

    async def settled() -> dict[str, Any] | None:
        now = await world.pod("team")
        limits = (now["status"].get("resources") or {}).get("limits")
        waiting = {each["type"] for each in now["status"]["conditions"]} & _RESIZING
        return now if limits == {"cpu": "1", "memory": "512Mi"} and not waiting else None

    after = await world.until("the resize completes", settled)
    found = [await world.cgroup(after, name) for name in ("cpu.max", "memory.max")]
    if container_ids(before) != container_ids(after):
        raise Unshown("a container was restarted")
    if found != ["100000 100000", str(512 << 20)]:
        raise Unshown(f"the pod's cgroup says {found}")
    return Told(f"cpu.max {files[0]}, memory.max {amount(int(files[1]))}", f"cpu.max {found[0]}, memory.max 512Mi")


async def wait_for_room(world: DemoWorld) -> Told:
    """A pod larger than what is left of the node."""
    left = Quantity.parse((await world.allocatable())["cpu"])
    wanted = Quantity.of_milli(left.milli + 500)
    requests = {"cpu": str(wanted), "memory": "64Mi"}
    await world.create(pod("big", {"requests": requests, "limits": requests}))

    async def refused() -> bool:
        conditions = (await world.pod("big"))["status"].get("conditions") or ()
        return any(each.get("reason") == "Unschedulable" for each in conditions)

    await world.until("the scheduler finds no room", refused)
    return Told("no pod", f"big wants {wanted} CPUs of {left}: pending")


async def plug(world: DemoWorld) -> Told:
    """Two CPUs and a GiB more; the node grows, the waiting pod runs, running containers see the CPUs."""
    old = await world.allocatable()
    seen = await _nproc(world)
    changed = await sizing.plug(
        world.machine.hypervisor, world.machine.guest, sizing.Wish(cpus=PLUGGED_CPUS, memory=GIB)
    )
    if isinstance(changed, Refused) or changed.refusal is not None:
        raise Unshown(f"the machine did not grow: {changed}")
    world.say("   the machine has grown; the node notices by itself")

    async def grown() -> dict[str, str] | None:
        new = await world.allocatable()
        memory, cpus = (Quantity.parse(new[name]).value - Quantity.parse(old[name]).value for name in AMOUNTS)
        return new if cpus == PLUGGED_CPUS and memory > GIB // 2 else None

    new = await world.until("the node is larger", grown)
    await world.running("big")
    now = await _nproc(world)
    if now != seen + PLUGGED_CPUS:
        raise Unshown(f"a container that ran all the time sees {now} CPUs instead of {seen + PLUGGED_CPUS}")
    return Told(_size(old, seen), f"{_size(new, now)}; big runs")


async def unplug(world: DemoWorld) -> Told:
    """Both out again: what no longer fits ends and says why, what fits does not notice."""
    old, seen = await world.allocatable(), await _nproc(world)
    team = await world.pod("team")
    changed = await sizing.unplug(
        world.machine.hypervisor, world.machine.guest, sizing.Wish(cpus=PLUGGED_CPUS, memory=GIB)
    )
    if isinstance(changed, Refused) or changed.refusal is not None:
        raise Unshown(f"the machine did not shrink: {changed}")
    big = await world.ended("big")

    async def shrunk() -> dict[str, str] | None:
        new = await world.allocatable()
        memory, cpus = (Quantity.parse(old[name]).value - Quantity.parse(new[name]).value for name in AMOUNTS)
        return new if cpus == PLUGGED_CPUS and memory > GIB // 2 else None

    new = await world.until("the node is smaller", shrunk)
    world.say(f"   big: {big['status']['message']}")
    if container_ids(team) != container_ids(await world.pod("team")):
        raise Unshown("a container of the pod that still fits was restarted")
    now = await _nproc(world)
    return Told(_size(old, seen), f"{_size(new, now)}; big ended: {big['status']['reason']}, team runs on")


async def _nproc(world: DemoWorld) -> int:
    """How many CPUs a running container of the pod team may use, as the kernel says."""
    found = await world.pod("team")
    run = found["status"]["containerStatuses"][0]["containerID"].partition("://")[2]
    text = await world.cgroup(found, f"{run}/cpuset.cpus.effective")
    return sum(
        int(last or first) - int(first) + 1 for first, _, last in (p.partition("-") for p in text.split(","))
    )


def _size(allocatable: dict[str, str], seen: int) -> str:
    memory = amount(Quantity.parse(allocatable["memory"]).value)
    return f"{allocatable['cpu']} CPUs, {memory}, containers see {seen}"


_RESIZING: Final = {"PodResizePending", "PodResizeInProgress"}

STEPS: Final = (
    Step("pods start", "A pod with two containers; both may use what the pod has as a whole.", start),
    Step(
        "pod resized in place",
        "The pod gets twice the memory and CPU. Nothing restarts; look at its cgroup.",
        resize,
    ),
    Step("no room", "A pod that is larger than the whole node has to wait.", wait_for_room),
    Step(
        "node grows",
        "Plug two CPUs and one GiB into the running machine. Nobody restarts anything.",
        plug,
    ),
    Step(
        "node shrinks",
        "Take both out again. The pod that has no room any more ends; the other does not notice.",
        unplug,
    ),
)
