"""Resizes that can never be done here."""

import pytest
from msgspec.structs import replace
from tests.pods import container, pod

from flexlet.api.pod import Container, Pod, PodStatus, ResizePolicy
from flexlet.core.cgroups.settings import CgroupSettings
from flexlet.core.gates import switch
from flexlet.core.resize import infeasible
from flexlet.core.resize.allocation import Allocation, of_spec
from flexlet.core.resize.infeasible import NodeRules
from flexlet.core.resize.verdict import Infeasible

STATIC = NodeRules(cpu_manager_policy="static", memory_manager_policy="Static")
SWAP = NodeRules(cgroups=CgroupSettings(memory_swap_behavior="LimitedSwap"))
GUARANTEED = pod(container("c", "1,1Gi", "1,1Gi"), status=PodStatus(qos_class="Guaranteed"))
BURSTABLE = pod(container("c", "1,1Gi", "2,2Gi"), status=PodStatus(qos_class="Burstable"))
SWAPS = Infeasible("swap_limitation", "In-place resize of containers with swap is not supported.")
CPUS = Infeasible(
    "guaranteed_pod_cpu_manager_static_policy",
    'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
)
MEMORY = Infeasible(
    "guaranteed_pod_memory_manager_static_policy",
    'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
)


def asks(held: Pod, *containers: Container) -> tuple[Pod, Allocation]:
    """The pod with other containers, and what it holds."""
    return replace(held, spec=replace(held.spec, containers=containers)), of_spec(held)


def restarting(*arguments: str) -> Container:
    policy = ResizePolicy(resource_name="memory", restart_policy="RestartContainer")
    return replace(container(*arguments), resize_policy=(policy,))


@pytest.mark.parametrize(
    ("rules", "wish", "verdict"),
    [
        (NodeRules(), asks(GUARANTEED, container("c", "2,1Gi", "2,1Gi")), None),
        (STATIC, asks(GUARANTEED, container("c", "2,1Gi", "2,1Gi")), CPUS),
        (STATIC, asks(GUARANTEED, container("c", "2,2Gi", "2,2Gi")), CPUS),
        (STATIC, asks(GUARANTEED, container("c", "1,2Gi", "1,2Gi")), MEMORY),
        (STATIC, asks(BURSTABLE, container("c", "2,2Gi", "3,3Gi")), None),
        (SWAP, asks(BURSTABLE, container("c", "1,1536Mi", "2,2Gi")), SWAPS),
        (SWAP, asks(BURSTABLE, container("c", "1,2Gi", "2,2Gi")), SWAPS),
        (SWAP, asks(BURSTABLE, container("c", "2,1Gi", "2,3Gi")), None),
        (SWAP, asks(GUARANTEED, container("c", "1,2Gi", "1,2Gi")), None),
        (NodeRules(cgroups=SWAP.cgroups, swap_controller=False), asks(BURSTABLE, container("c", "1,2Gi")), None),
        (
            SWAP,
            asks(
                replace(BURSTABLE, spec=replace(BURSTABLE.spec, priority=2_000_000_000)), container("c", "1,2Gi")
            ),
            None,
        ),
        (
            NodeRules(gates=switch({"InPlacePodVerticalScaling": False})),
            asks(BURSTABLE, container("c", "2")),
            Infeasible("feature_gate_off", "InPlacePodVerticalScaling is disabled"),
        ),
        (
            NodeRules(platform="windows"),
            asks(BURSTABLE, container("c", "2")),
            Infeasible("windows", "In-place pod resize is not supported on Windows"),
        ),
        (
            NodeRules(platform="plan9"),
            asks(BURSTABLE, container("c", "2")),
            Infeasible("unsupported_platform", "In-place pod resize is not supported on this node"),
        ),
    ],
)
def test_rules(rules: NodeRules, wish: tuple[Pod, Allocation], verdict: Infeasible | None) -> None:
    assert infeasible.refusal(*wish, rules) == verdict


def test_a_container_that_restarts_gets_its_swap_anew() -> None:
    held = replace(BURSTABLE, spec=replace(BURSTABLE.spec, containers=(restarting("c", "1,1Gi", "2,2Gi"),)))
    assert infeasible.refusal(*asks(held, restarting("c", "1,1536Mi", "2,2Gi")), SWAP) is None


def test_a_pod_level_granted_earlier_cannot_change_without_its_gate() -> None:
    rules = NodeRules(gates=switch({"InPlacePodLevelResourcesVerticalScaling": False}))
    held, wish = pod(container("c"), level=("1,1Gi", "")), pod(container("c"), level=("2,1Gi", ""))
    refusal = Infeasible("plr_feature_gate_off", "InPlacePodLevelResourcesVerticalScaling is disabled")
    assert infeasible.refusal(wish, of_spec(held), rules) == refusal
    assert infeasible.refusal(wish, of_spec(wish), rules) is None
    assert infeasible.refusal(wish, of_spec(held, rules.gates), rules) is None


def test_rules_of_static_placement_do_not_see_the_pod_level() -> None:
    """As upstream: only container requests count."""
    held = pod(container("c", "1,1Gi"), level=("2,2Gi", "2,2Gi"), status=PodStatus(qos_class="Guaranteed"))
    wish = replace(held, spec=replace(held.spec, resources=pod(level=("3,2Gi", "3,2Gi")).spec.resources))
    assert infeasible.refusal(wish, of_spec(held), STATIC) is None


def test_the_gates_of_exclusive_placement_lift_its_rules() -> None:
    """Each gate lifts one rule."""
    wish = asks(GUARANTEED, container("c", "2,2Gi", "2,2Gi"))
    cpus = switch({"InPlacePodVerticalScalingExclusiveCPUs": True})
    both = switch(
        {"InPlacePodVerticalScalingExclusiveCPUs": True, "InPlacePodVerticalScalingExclusiveMemory": True}
    )
    assert infeasible.refusal(*wish, replace(STATIC, gates=cpus)) == MEMORY
    assert infeasible.refusal(*wish, replace(STATIC, gates=both)) is None
