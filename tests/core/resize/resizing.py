"""Facts of a pod that was started with one size and is allocated another."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from tests.core.resize.node import FRESH, HOST, call

from flexlet.api.pod import Pod, PodStatus, ResizePolicy
from flexlet.core.cgroups import pods
from flexlet.core.resize import podcgroup, targets
from flexlet.core.resize.actuation import Facts, Plan, after, plan
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.podcgroup import HOST as KERNEL
from flexlet.core.resize.podcgroup import Kernel
from flexlet.core.resize.safety import MemoryUsage
from flexlet.core.resources.qos import qos_class


def with_class(pod: Pod, like: Pod | None = None) -> Pod:
    """The pod with its class recorded; no resize changes it."""
    return replace(pod, status=PodStatus(phase="Running", qos_class=qos_class(like or pod)))


def restarting(pod: Pod, *names: str, resources: tuple[str, ...] = ("memory",)) -> Pod:
    """Some containers restart when these resources change."""
    policy = tuple(ResizePolicy(resource_name=name, restart_policy="RestartContainer") for name in resources)
    changed = tuple(replace(c, resize_policy=policy) if c.name in names else c for c in pod.spec.containers)
    return replace(pod, spec=replace(pod.spec, containers=changed))


def started(pod: Pod) -> Allocation:
    """What is recorded once all containers of a pod were created."""
    actuated = targets.cgroup_created(None, pod)
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        actuated = targets.created(actuated, pod, container)
    return actuated


def facts(before: Pod, wanted: Pod, kernel: Kernel = KERNEL, **more: Any) -> Facts:
    """A pod that runs with `before` and is allocated `wanted`; nothing is in use."""
    before, wanted = with_class(before), with_class(wanted, before)
    running = frozenset(c.name for c in (*before.spec.containers, *before.spec.init_containers))
    return Facts(
        pod=wanted,
        actuated=more.pop("actuated", started(before)),
        running=more.pop("running", running),
        cgroup=podcgroup.written(FRESH, pods.pod_cgroup(before), kernel),
        usage=more.pop("usage", MemoryUsage(0, dict.fromkeys(running, 0))),
        host=HOST,
        kernel=kernel,
        **more,
    )


def calls(found: Plan) -> list[str]:
    """The steps in a few words each."""
    return [call(step) for step in found.steps]


def carried_out(known: Facts, steps: Iterable[Any]) -> Facts:
    """The facts after these steps."""
    for step in steps:
        known = after(known, step)
    return known


def settle(known: Facts) -> Facts:
    """The facts once nothing is left to do, containers that were stopped having started again."""
    for _ in range(10):
        found = plan(known)
        known = carried_out(known, found.steps)
        known = start(known)
        if not found.steps:
            return known
    raise AssertionError("a plan never ends")


def start(known: Facts) -> Facts:
    """All regular containers and sidecars that do not run are created with what is allocated."""
    for container in (*known.pod.spec.init_containers, *known.pod.spec.containers):
        if container.name not in known.running:
            actuated = targets.created(known.actuated, known.pod, container)
            known = replace(known, actuated=actuated, running=known.running | {container.name})
    return known
