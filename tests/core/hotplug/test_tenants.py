from typing import Any

from tests import pods

from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodeContainer, NodePod, NodePodSpec
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import ADMITTED, REJECTED, Ending, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import World
from flexlet.core.hotplug.tenants import tenants
from flexlet.core.resize.allocation import Allocation
from flexlet.core.runtime.shown import EXITED, RUNNING, Container, RuntimePod


def record(name: str, **more: Any) -> PodRecord:
    """A pod that was let in with what it asks for, 3 CPUs and 3Gi."""
    spec = NodePodSpec(containers=(NodeContainer(name="c", resources=pods.resources("3,3Gi")),))
    pod = NodePod(metadata=ObjectMeta(name=name, namespace="default", uid=name), spec=spec)
    fields: dict[str, Any] = {"admission": ADMITTED, "allocation": Allocation({})}
    return PodRecord(pod=pod, **(fields | more))


def world(*records: PodRecord) -> World:
    return World(setup=NodeSetup(name="node-1"), pods={each.uid: each for each in records})


def named(*records: PodRecord) -> list[str]:
    return [each.uid for each in tenants(world(*records))]


def test_everybody_who_holds_room_is_a_tenant() -> None:
    """Also who will as soon as the ledger has it; not who was refused, is at the door or has ended."""
    assert named(
        record("in"),
        record("soon", admission="Undecided", allocation=None, granted=Allocation({})),
        record("door", admission="Undecided", allocation=None),
        record("refused", admission=REJECTED, allocation=None),
        record("over", stopped=True),
    ) == ["in", "soon"]


def test_a_tenant_is_as_the_node_runs_it() -> None:
    """Where it came from says whether it is critical; only what runs now can be tuned."""
    runs = (
        Container(id="new", name="c", state=RUNNING),
        Container(id="old", name="c", state=RUNNING),
        Container(id="done", name="d", state=EXITED),
    )
    (found,) = tenants(world(record("etcd", source=FILE, shown=RuntimePod("etcd", containers=runs))))
    assert (found.is_critical, found.running, found.leaving) == (True, {"c": "new"}, False)
    assert (found.priority, found.grace_s, found.name) == (0, 30, "default/etcd")


def test_who_was_told_to_go_is_leaving() -> None:
    (found,) = tenants(world(record("a", ending=Ending())))
    assert found.leaving


def test_what_was_granted_last_counts() -> None:
    """A grant counts as held the moment it is decided."""
    small, large = (Allocation({"c": pods.resources(text)}) for text in ("1,1Gi", "2,1Gi"))
    sizes = [tenants(world(record("a", allocation=small, **more))) for more in ({}, {"granted": large})]
    assert [pods.texts(found.requests)["cpu"] for (found,) in sizes] == ["1", "2"]
