"""Resizes that a node can never carry out, whatever room it has.

Each rule looks at what was granted and what is asked for, and names itself in the metric's ``reason_detail``. The
rules on swap and on static CPU or memory placement look at container requests only, as in Kubernetes 1.36.3: a
change of the pod level alone passes them. An Infeasible resize is not asked again until the wish changes or the
agent restarts.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from flexlet.api.pod import Container, Pod
from flexlet.api.quantity import ZERO
from flexlet.core.cgroups import swap
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, IN_PLACE, POD_LEVEL, Allocation, applied, resizable
from flexlet.core.resize.verdict import Infeasible
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.resources.qos import GUARANTEED, recorded_qos_class

LINUX: Final = "linux"
WINDOWS: Final = "windows"
STATIC_CPUS: Final = "static"
STATIC_MEMORY: Final = "Static"
RESTART: Final = "RestartContainer"
EXCLUSIVE_CPUS: Final = "InPlacePodVerticalScalingExclusiveCPUs"
EXCLUSIVE_MEMORY: Final = "InPlacePodVerticalScalingExclusiveMemory"


class NodeRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator and the machine decide about resizes, apart from any pod."""

    gates: Gates = DEFAULT_GATES
    platform: str = LINUX
    cpu_manager_policy: str = "none"
    memory_manager_policy: str = "None"
    swap_controller: bool = True
    cgroups: CgroupSettings = DEFAULTS


Rule = Callable[[Pod, Allocation, NodeRules], Infeasible | None]


def refusal(
    pod: Pod, allocation: Allocation, rules: NodeRules, asked: tuple[Rule, ...] | None = None
) -> Infeasible | None:
    """The first rule that the wish breaks, None if it is feasible; all rules are asked unless some are named."""
    asked = RULES if asked is None else asked
    return next((found for rule in asked if (found := rule(pod, allocation, rules))), None)


def restarts_for(container: Container, resource: str) -> bool:
    """Whether the container must restart when this resource changes; absence means it need not."""
    return any(p.resource_name == resource and p.restart_policy == RESTART for p in container.resize_policy)


def _unsupported(_: Pod, __: Allocation, rules: NodeRules) -> Infeasible | None:
    if not rules.gates[IN_PLACE]:
        return Infeasible("feature_gate_off", "InPlacePodVerticalScaling is disabled")
    if rules.platform == WINDOWS:
        return Infeasible("windows", "In-place pod resize is not supported on Windows")
    if rules.platform != LINUX:
        return Infeasible("unsupported_platform", "In-place pod resize is not supported on this node")
    return None


def _swapping(pod: Pod, allocation: Allocation, rules: NodeRules) -> Infeasible | None:
    """The part of the swap follows the memory request, and cannot follow it in a running container."""
    before = applied(pod, allocation, rules.gates)
    granted = {container.name: container for container in (*before.spec.init_containers, *before.spec.containers)}
    for wish in (*pod.spec.init_containers, *pod.spec.containers):
        held = granted[wish.name]
        if _request(wish, MEMORY) == _request(held, MEMORY) or restarts_for(held, MEMORY):
            continue
        if _may_swap(pod, wish, rules) or _may_swap(before, held, rules):
            return Infeasible("swap_limitation", "In-place resize of containers with swap is not supported.")
    return None


def _pod_level_off(pod: Pod, allocation: Allocation, rules: NodeRules) -> Infeasible | None:
    """Only a pod whose pod level was granted while the gate was on can get here."""
    if rules.gates[POD_LEVEL] or allocation.pod is None or pod.spec.resources == allocation.pod:
        return None
    return Infeasible("plr_feature_gate_off", "InPlacePodLevelResourcesVerticalScaling is disabled")


def _static_cpus(pod: Pod, allocation: Allocation, rules: NodeRules) -> Infeasible | None:
    held = rules.cpu_manager_policy == STATIC_CPUS and not rules.gates[EXCLUSIVE_CPUS]
    if not held or not _moves_guaranteed(pod, allocation, rules, CPU):
        return None
    message = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
    return Infeasible("guaranteed_pod_cpu_manager_static_policy", message)


def _static_memory(pod: Pod, allocation: Allocation, rules: NodeRules) -> Infeasible | None:
    held = rules.memory_manager_policy == STATIC_MEMORY and not rules.gates[EXCLUSIVE_MEMORY]
    if not held or not _moves_guaranteed(pod, allocation, rules, MEMORY):
        return None
    message = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'
    return Infeasible("guaranteed_pod_memory_manager_static_policy", message)


ALWAYS: Final[tuple[Rule, ...]] = (_unsupported,)
"""What nobody can do, not even a balloon that gives back."""
RULES: Final[tuple[Rule, ...]] = (_unsupported, _swapping, _pod_level_off, _static_cpus, _static_memory)


def _moves_guaranteed(pod: Pod, allocation: Allocation, rules: NodeRules, name: str) -> bool:
    if recorded_qos_class(pod) != GUARANTEED:
        return False
    held = {key: resources.requests.get(name, ZERO) for key, resources in allocation.containers.items()}
    return any(_request(wish, name) != held.get(wish.name, ZERO) for wish in resizable(pod, rules.gates))


def _may_swap(pod: Pod, container: Container, rules: NodeRules) -> bool:
    return rules.swap_controller and swap.may_swap(pod, container, rules.cgroups)


def _request(container: Container, name: str) -> object:
    return container.resources.requests.get(name, ZERO)
