"""Where pods go, and what they are told when they go nowhere."""

import pytest
from tests.core.scheduling.cluster import node, plan_for, pod, world_of

from flexlet.api import selectors
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.core.scheduling.decide import decide
from flexlet.core.scheduling.plan import Bind, Plan, Preempt, Unschedulable
from flexlet.core.scheduling.pods import waiting

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def bound(name: str, to: str) -> Bind:
    return Bind(f"uid-{name}", "default", name, to)


def told(name: str, text: str) -> Unschedulable:
    return Unschedulable(f"uid-{name}", "default", name, text)


def test_a_pod_goes_to_the_emptiest_node() -> None:
    """Least allocated wins."""
    assert plan_for(node("a"), node("b"), pod("x", cpu="2", on="a"), pod("p")) == Plan((bound("p", "b"),))


def test_equal_pods_fill_nodes_evenly_and_then_wait() -> None:
    """A group is placed one by one, and what is left is told why it waits."""
    assert plan_for(node("a", cpu="2"), node("b", cpu="2"), *(pod(f"p{i}") for i in range(5))) == Plan(
        (
            bound("p0", "a"),
            bound("p1", "b"),
            bound("p2", "a"),
            bound("p3", "b"),
            told(
                "p4",
                "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
                "2 No preemption victims found for incoming pod.",
            ),
        )
    )


NOT_HELPFUL = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."


@pytest.mark.parametrize(
    ("on", "waits", "reason"),
    [
        (node("a", taints=[TAINT]), pod("p"), f"1 node(s) had untolerated taint(s). {NOT_HELPFUL}"),
        (node("a", unschedulable=True), pod("p"), f"1 node(s) were unschedulable. {NOT_HELPFUL}"),
        (
            node("a"),
            pod("p", nodeSelector={"disk": "ssd"}),
            f"1 node(s) didn't match Pod's node affinity/selector. {NOT_HELPFUL}",
        ),
        (
            node("a", cpu="1"),
            pod("p", cpu="2", memory="9Gi"),
            f"1 Insufficient cpu, 1 Insufficient memory. {NOT_HELPFUL}",
        ),
        (node("a", pods="0"), pod("p"), f"1 Too many pods. {NO_VICTIMS}"),
        (
            node("a"),
            pod("p", topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "labelSelector": {}}]),
            f"1 node(s) didn't match pod topology spread constraints (missing required label). {NO_VICTIMS}",
        ),
        (
            node("a", cpu="1"),
            pod("p", cpu="2", preemptionPolicy="Never"),
            "1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
        ),
    ],
)
def test_a_pod_that_fits_nowhere_is_told_why(on: Node, waits: Pod, reason: str) -> None:
    """The sentence is kube-scheduler's."""
    assert plan_for(on, waits) == Plan((told("p", f"0/1 nodes are available: {reason}"),))


def test_without_nodes_the_message_says_so() -> None:
    assert plan_for(pod("p")) == Plan((told("p", "no nodes available to schedule pods"),))


def test_tolerations_selectors_and_affinity_let_a_pod_in() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["2"]}]}]
            }
        }
    }
    nodes = [node("a", labels={"gen": "2"}), node("b", labels={"gen": "3"}, taints=[TAINT])]
    tolerant = pod("p", affinity=affinity, tolerations=[{"key": "dedicated", "operator": "Exists"}])
    assert plan_for(*nodes, tolerant) == Plan((bound("p", "b"),))


def test_host_ports_are_not_shared() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    plan = plan_for(
        node("a"), node("b"), pod("x", on="a", ports=ports), pod("p", ports=ports), pod("q", ports=ports)
    )
    assert plan.actions[0] == bound("p", "b")
    assert isinstance(plan.actions[1], Unschedulable)
    assert "2 node(s) didn't have free ports for the requested pod ports" in plan.actions[1].message


def test_anti_affinity_works_both_ways() -> None:
    """A newcomer avoids its kind, and a running pod's own rule keeps newcomers out."""
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    db = pod("x", on="a", labels={"app": "db"}, affinity=apart)
    newcomer = plan_for(node("a"), db, pod("p", labels={"app": "db"}, affinity=apart))
    plain = plan_for(node("a"), db, pod("p", labels={"app": "db"}))
    assert "didn't match pod anti-affinity rules" in str(newcomer.actions[0])
    assert "didn't satisfy existing pods anti-affinity rules" in str(plain.actions[0])
    assert plan_for(node("a"), node("b"), db, pod("p", labels={"app": "db"})) == Plan((bound("p", "b"),))


def test_affinity_wants_company_and_the_first_of_its_kind_may_start() -> None:
    terms = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]
    together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    nodes = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})]
    near = plan_for(*nodes, pod("x", on="b", labels={"app": "web"}), pod("p", affinity=together))
    first = plan_for(*nodes, pod("p", labels={"app": "web"}, affinity=together))
    alone = plan_for(*nodes, pod("p", affinity=together))
    assert near == Plan((bound("p", "b"),))
    assert first == Plan((bound("p", "a"),))
    assert "2 node(s) didn't match pod affinity rules" in str(alone.actions[0])


def test_affinity_terms_reach_selected_namespaces() -> None:
    """A namespaceSelector picks namespaces by their labels."""
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "x"}}}
    together = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = world_of(
        node("a", labels={"zone": "1"}), pod("x", on="a", namespace="other"), pod("p", affinity=together)
    )
    world.namespaces = {"other": {"team": "y"}}
    assert isinstance(decide(world).actions[0], Unschedulable)
    world.namespaces = {"other": {"team": "x"}}
    assert decide(world) == Plan((bound("p", "a"),))


def test_hard_spread_keeps_the_skew() -> None:
    spread = [{"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]
    nodes = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"}, cpu="1")]
    web = [pod(f"p{i}", labels={"app": "web"}, topologySpreadConstraints=spread) for i in range(4)]
    actions = plan_for(*nodes, *web).actions
    assert actions[:3] == (bound("p0", "a"), bound("p1", "b"), bound("p2", "a"))
    assert "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints." in str(actions[3])


def test_siblings_go_apart() -> None:
    """Pods of one controller spread even where another node is emptier."""
    plan = plan_for(
        node("a", cpu="8", memory="16Gi"), node("b"), pod("x", on="a", owner="rs"), pod("p", owner="rs")
    )
    assert plan == Plan((bound("p", "b"),))


def test_gated_and_foreign_pods_are_left_alone() -> None:
    gated = pod("g", schedulingGates=[{"name": "later"}])
    foreign = pod("f", schedulerName="other")
    assert plan_for(node("a"), gated, foreign) == Plan()


def test_preemption_ends_the_least_important_and_never_a_balloon() -> None:
    low = pod("low", cpu="3", on="a", priority=1)
    labels = {"flexlet.io/balloon": "true"}
    balloon = pod("balloon", cpu="3", on="b", priority=0, labels=labels, namespace="kube-system")
    plan = plan_for(node("a"), node("b"), low, balloon, pod("p", cpu="2", priority=100))
    assert plan == Plan((Preempt("uid-p", "default", "p", "a", (("default", "low", "uid-low"),)),))
    only_balloon = plan_for(node("b"), balloon, pod("p", cpu="2", priority=100))
    assert "1 No preemption victims found for incoming pod" in str(only_balloon.actions[0])


def test_preemption_spares_whom_it_can_and_honours_budgets() -> None:
    """Only as many victims as needed; a node without a broken budget is preferred."""
    from flexlet.core.scheduling.world import Budget

    guarded = [pod(f"g{i}", cpu="2", on="a", priority=1, labels={"app": "g"}) for i in range(2)]
    plain = [pod(f"n{i}", cpu="2", on="b", priority=5) for i in range(2)]
    world = world_of(node("a"), node("b"), *guarded, *plain, pod("p", cpu="2", priority=100))
    world.budgets["default/g"] = Budget("default", selectors.from_object({"matchLabels": {"app": "g"}}), 0)
    action = decide(world).actions[0]
    assert isinstance(action, Preempt)
    assert (action.node, len(action.victims)) == ("b", 1)


def test_promised_room_is_kept_from_equals_and_given_to_superiors() -> None:
    world = world_of(
        node("a", cpu="1"), pod("first", priority=5, status={"nominatedNodeName": "a"}), pod("second", priority=5)
    )
    world.rest("uid-first")
    assert isinstance(decide(world).actions[0], Unschedulable)
    world.pod_changed(pod("boss", priority=9))
    assert decide(world).actions[0] == bound("boss", "a")


def test_no_second_round_of_victims_while_the_first_is_leaving() -> None:
    leaving = pod("low", on="a", cpu="1", priority=1)
    leaving = type(leaving)(
        metadata=type(leaving.metadata)(
            name="low", namespace="default", uid="uid-low", deletion_timestamp="2026-01-01T00:00:00Z"
        ),
        spec=leaving.spec,
    )
    other = pod("other", on="b", cpu="1", priority=1)
    waiter = pod("p", priority=5, status={"nominatedNodeName": "a"})
    plan = plan_for(node("a", cpu="1"), node("b", cpu="1"), leaving, other, waiter)
    assert isinstance(plan.actions[0], Unschedulable)


def test_a_node_that_grows_wakes_the_waiting() -> None:
    """UpdateNodeAllocatable: pods pending for room are tried at once."""
    world = world_of(node("a", cpu="1"), pod("p", cpu="2"))
    world.rest("uid-p")
    world.node_changed(node("a", cpu="1"))
    assert decide(world) == Plan()
    world.node_changed(node("a", cpu="3"))
    assert decide(world) == Plan((bound("p", "a"),))


def test_a_pod_that_shrinks_or_leaves_wakes_the_waiting() -> None:
    world = world_of(node("a", cpu="2"), pod("x", cpu="2", on="a"), pod("p"))
    world.rest("uid-p")
    world.pod_changed(pod("x", cpu="1", on="a"))
    assert decide(world) == Plan((bound("p", "a"),))
    world.rest("uid-p")
    world.pod_gone("uid-x")
    assert decide(world) == Plan((bound("p", "a"),))


def test_a_pod_being_resized_counts_with_its_largest_size() -> None:
    """Spec says 1, the node still holds 3: the room is not free yet."""
    status = {
        "containerStatuses": [
            {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}}
        ]
    }
    assert isinstance(
        plan_for(node("a"), pod("x", on="a", status=status), pod("p", cpu="2")).actions[0], Unschedulable
    )


def test_an_assumed_pod_counts_and_a_failed_binding_gives_the_room_back() -> None:
    world = world_of(node("a", cpu="1"), pod("p"), pod("q"))
    first = decide(world).actions[0]
    assert first == bound("p", "a")
    world.assume("uid-p", "a")
    assert isinstance(decide(world).actions[0], Unschedulable)
    world.bind_failed(pod("p"))
    assert decide(world).actions[0] == bound("p", "a")


def test_deciding_does_not_change_the_world() -> None:
    world = world_of(node("a"), node("b"), *(pod(f"p{i}") for i in range(6)))
    assert decide(world) == decide(world)


def test_equal_pods_share_a_signature() -> None:
    assert waiting(pod("p")).signature == waiting(pod("q")).signature
    assert waiting(pod("p")).signature != waiting(pod("q", cpu="2")).signature


def test_finished_pods_and_lost_nodes_free_their_room() -> None:
    world = world_of(node("a", cpu="1"), pod("x", on="a"), pod("p"))
    world.pod_changed(pod("x", on="a", status={"phase": "Succeeded"}))
    assert decide(world) == Plan((bound("p", "a"),))
    world.node_gone("a")
    assert decide(world).actions == (told("p", "no nodes available to schedule pods"),)


def test_preferred_affinity_outweighs_emptiness_and_soft_taints_count_against() -> None:
    """Preferences move a pod; they never keep it out."""
    wish = {
        "weight": 10,
        "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
    }
    prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    soft = {"key": "old", "effect": "PreferNoSchedule"}
    nodes = [node("a", labels={"disk": "ssd"}), node("b"), node("c", taints=[soft])]
    busy = pod("x", cpu="2", on="a")
    assert plan_for(*nodes, busy, pod("p", affinity=prefers)) == Plan((bound("p", "a"),))
    assert plan_for(node("b"), node("c", taints=[soft]), pod("y", cpu="1", on="b"), pod("p")) == Plan(
        (bound("p", "b"),)
    )
    assert plan_for(node("c", taints=[soft]), pod("p")) == Plan((bound("p", "c"),))


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["3"], True),
        ("NotIn", ["3"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["2"], True),
        ("Lt", ["3"], False),
        ("Gt", ["many"], False),
        ("Unheard", [], False),
    ],
)
def test_node_affinity_operators(operator: str, values: list[str], fits: bool) -> None:
    term = {"matchExpressions": [{"key": "gen", "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term, {}]}}
    plan = plan_for(node("a", labels={"gen": "3"}), pod("p", affinity={"nodeAffinity": required}))
    assert isinstance(plan.actions[0], Bind) is fits


def test_match_fields_name_a_node() -> None:
    """How DaemonSets pin their pods."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pinned = pod("p", affinity={"nodeAffinity": required})
    assert plan_for(node("a"), node("b"), pinned) == Plan((bound("p", "b"),))


def test_spread_counts_only_the_domains_a_pod_could_use() -> None:
    """With minDomains missing domains are empty; a tainted domain counts unless taints are honoured."""

    def web(name: str, on: str = "", **constraint: object) -> Pod:
        spread = {
            "maxSkew": 1,
            "topologyKey": "zone",
            "labelSelector": {"matchLabels": {"app": "web"}},
            **constraint,
        }
        return pod(name, cpu="100m", on=on, labels={"app": "web"}, topologySpreadConstraints=[spread])

    a = node("a", labels={"zone": "1"})
    tainted = node("b", labels={"zone": "2"}, taints=[TAINT])
    assert isinstance(plan_for(a, web("x", on="a"), web("p", minDomains=2)).actions[0], Unschedulable)
    assert plan_for(a, web("x", on="a"), web("p")) == Plan((bound("p", "a"),))
    assert isinstance(plan_for(a, tainted, web("x", on="a"), web("p")).actions[0], Unschedulable)
    assert plan_for(a, tainted, web("x", on="a"), web("p", nodeTaintsPolicy="Honor")) == Plan((bound("p", "a"),))
    only_a = web("p", matchLabelKeys=["app"])
    assert isinstance(plan_for(a, tainted, web("x", on="a"), only_a).actions[0], Unschedulable)


def test_in_a_large_cluster_some_nodes_are_compared_and_all_are_used() -> None:
    """A few hundred fitting nodes are not all looked at for one pod, but none is left out for many."""
    nodes = [node(f"n{i:03}", cpu="1") for i in range(250)]
    world = world_of(*nodes, pod("p"))
    (first,) = decide(world).actions
    world.assume("uid-p", "n007")
    world.pod_changed(pod("q"))
    (second,) = decide(world).actions
    assert isinstance(first, Bind)
    assert isinstance(second, Bind)
    assert (first.node, second.node) == ("n000", "n001")
    plan = plan_for(*nodes, *(pod(f"p{i:03}") for i in range(251)))
    assert len({action.node for action in plan.actions if isinstance(action, Bind)}) == 250
    assert isinstance(plan.actions[-1], Unschedulable)
