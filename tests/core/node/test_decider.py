import copy
from typing import Any

import msgspec
import pytest
from tests.core.node.nodes import FACTS, LIFE, MACHINE, NOW, SETTINGS, facts, seen, settings

from flexlet.core.actions import ApiAction, CreateObject, LookUp, PatchObject, RecordEvent
from flexlet.core.machine.machine import Identity
from flexlet.core.node import events, patch
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.facts import MEMORY_PRESSURE, NodeFacts
from flexlet.core.node.registration import node
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import status
from flexlet.core.observations import Absent, Failed, Vanished
from flexlet.core.refs import LEASES, NODES

STARTING = events.starting("node-a")


def news(*reasons: str) -> list[RecordEvent]:
    return [events.status_is_now("node-a", reason) for reason in reasons]


def existing(known: NodeFacts = FACTS, now: float = NOW, **spec: Any) -> dict[str, Any]:
    """The Node as a node that knows these facts would have registered it."""
    body = node(SETTINGS, known, copy.deepcopy(status({}, SETTINGS, known, now)[0]))
    body["metadata"] |= {"uid": "u1", "resourceVersion": "1"}
    return body | {"spec": spec}


def without_lease(actions: tuple[ApiAction, ...]) -> list[ApiAction]:
    """Leases have tests of their own."""
    return [a for a in actions if isinstance(a, RecordEvent) or a.ref != LEASES]


class Life:
    """A decider with a clock; `round` decides and returns what is not about the Lease."""

    def __init__(self, known: NodeFacts | None = FACTS, given: NodeSettings = SETTINGS) -> None:
        self.decider = NodeDecider(given)
        self.now = NOW
        if known is not None:
            self.decider.learn(known)

    def round(self, after: float = 0.0) -> list[ApiAction]:
        self.now += after
        return without_lease(self.decider.decide(self.now).actions)

    def run(self, seconds: float) -> list[tuple[float, ApiAction]]:
        """Follow the plans for a while and note what is done when; everything succeeds."""
        end, done = self.now + seconds, []
        while self.now < end:
            plan = self.decider.decide(self.now)
            done += [(round(self.now - NOW, 1), action) for action in without_lease(plan.actions)]
            assert plan.wake_at is not None
            self.now = max(plan.wake_at, self.now)
        return done


def test_nothing_is_decided_before_the_node_knows_itself() -> None:
    assert Life(None).decider.decide(NOW).actions == ()


def test_a_node_registers_itself() -> None:
    """With its whole status, and tells what it found; the Lease follows when the uid is known."""
    life = Life()
    body = node(SETTINGS, FACTS, status({}, SETTINGS, FACTS, NOW)[0])
    told = news("NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID")
    assert life.decider.decide(NOW).actions == (STARTING, CreateObject(ref=NODES, body=body), *told)
    life.decider.fold(seen(existing()))
    [lease] = life.decider.decide(NOW).actions
    assert isinstance(lease, CreateObject)
    assert (lease.ref, life.decider.uid) == (LEASES, "u1")
    assert life.round() == []


def test_registration_is_tried_again() -> None:
    """With growing pauses up to seven seconds."""
    life = Life()
    pauses = []
    for _ in range(9):
        create = next(action for action in life.round() if isinstance(action, CreateObject))
        life.decider.fold(Failed(create, 500, "InternalError", ""))
        plan = life.decider.decide(life.now)
        assert (plan.actions, plan.wake_at is not None) == ((), True)
        pauses.append(round((plan.wake_at or 0) - life.now, 1))
        life.now = plan.wake_at or 0
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0, 7.0]


@pytest.mark.parametrize("code", [403, 409])
def test_a_node_that_may_exist_is_looked_for(code: int) -> None:
    """One that does is corrected where it differs, one that does not is tried again."""
    life = Life()
    create = life.round()[1]
    life.decider.fold(Failed(create, code, "", ""))
    look = LookUp(ref=NODES, name="node-a")
    assert life.round() == [look]
    life.decider.fold(Absent(NODES, "", "node-a"))
    assert life.round() == []
    assert isinstance(life.round(0.2)[0], CreateObject)
    life.decider.fold(Failed(create, code, "", ""))
    assert life.round() == [look]
    found = existing()
    del found["metadata"]["labels"]["kubernetes.io/os"]
    life.decider.fold(seen(found))
    [sent] = life.round()
    assert isinstance(sent, PatchObject)
    assert sent.patch["metadata"] == {"labels": {"kubernetes.io/os": "linux"}}


def test_an_existing_node_gets_differences_only() -> None:
    """Taints, labels and conditions of others stay; the start is a report in any case."""
    life = Life(given=settings(labels={"role": "db"}))
    found = existing(unschedulable=True, taints=[{"key": "mine", "effect": "NoSchedule"}])
    found["status"]["conditions"].append({"type": "KernelDeadlock", "status": "False"})
    life.decider.fold(seen(found))
    new, _ = status(found["status"], SETTINGS, FACTS, NOW)
    report = PatchObject(
        ref=NODES,
        name="node-a",
        patch={"status": {"conditions": patch.heartbeat(found["status"], new)}},
        kind="strategic",
        subresource="status",
    )
    assert life.round() == [STARTING, report, *news("NodeNotSchedulable")]
    assert life.round() == []


def test_heartbeats() -> None:
    """Computed every ten seconds, sent after five minutes; the first pause differs by up to a half."""
    life = Life(facts(runtime_ready_at=NOW + 1500))
    life.decider.fold(seen(existing()))
    life.round()
    reports = [when for when, action in life.run(1500) if isinstance(action, PatchObject)]
    first, *rest = [second - first for first, second in zip([0.0, *reports], reports, strict=False)]
    assert 150 <= first <= 460
    assert all(300 <= pause <= 311 for pause in rest)


def test_a_change_is_seen_within_ten_seconds() -> None:
    life = Life()
    life.decider.fold(seen(existing()))
    life.round()
    assert not life.decider.learn(facts(images=()))
    assert life.round(5) == []
    [(when, sent)] = life.run(11)
    assert isinstance(sent, PatchObject)
    assert (5 < when < 11, sent.patch["status"]["images"]) == (True, None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (facts(runtime=None), FACTS),
        (facts(problems=("x",)), FACTS),
        (FACTS, facts(machine=msgspec.structs.replace(MACHINE, memory=MACHINE.memory * 2))),
        (FACTS, facts(pressures=frozenset({MEMORY_PRESSURE}))),
        (FACTS, facts(shutting_down=True)),
    ],
)
def test_some_changes_cannot_wait(before: NodeFacts, after: NodeFacts) -> None:
    """Becoming ready, growing, pressure and going down are reported in the round that learns of them."""
    life = Life(before)
    life.decider.fold(seen(existing(before)))
    life.round()
    assert life.decider.learn(after)
    assert [type(action) for action in life.round(0.1) if not isinstance(action, RecordEvent)] == [PatchObject]


def test_a_lost_report_is_sent_again_and_its_news_are_not() -> None:
    """At once, five times, then with the next heartbeat."""
    life = Life(facts(pressures=frozenset({MEMORY_PRESSURE})))
    life.decider.fold(seen(existing()))
    told = news("NodeHasInsufficientMemory")
    _, sent, *rest = life.round()
    assert rest == told
    for _ in range(4):
        life.decider.fold(Failed(sent, 500, "", ""))
        [sent] = life.round()
    life.decider.fold(Failed(sent, 500, "", ""))
    assert life.round() == []
    assert [type(action) for action in life.round(11)] == [PatchObject]


def test_a_reboot_is_told_once() -> None:
    life = Life()
    other = msgspec.structs.replace(MACHINE, identity=Identity(boot_id="before", architecture="amd64"))
    life.decider.fold(seen(existing(facts(machine=other))))
    told = events.rebooted("node-a", MACHINE.identity.boot_id)
    assert told in life.round()
    assert told not in life.round(11)
    assert (told.type, told.reason) == ("Warning", "Rebooted")


def test_cordons_are_told() -> None:
    life = Life()
    life.decider.fold(seen(existing()))
    life.round()
    life.decider.fold(seen(existing(unschedulable=True)))
    assert news("NodeNotSchedulable")[0] in life.round(11)
    life.decider.fold(seen(existing()))
    assert life.round(11) == news("NodeSchedulable")


def test_measures_of_the_machine_are_told_once() -> None:
    life = Life(facts(image_capacity=0, enforcement=""))
    life.decider.fold(seen(existing()))
    told = [events.invalid_disk_capacity("node-a"), events.allocatable_enforced("node-a", "")]
    assert life.round()[1:3] == told
    life.decider.learn(facts(image_capacity=0, enforcement="no kubepods"))
    assert life.round(1) == [events.allocatable_enforced("node-a", "no kubepods")]
    life.decider.learn(facts(shutting_down=True))
    assert events.shutdown("node-a", begins=True) in life.round()
    life.decider.learn(FACTS)
    assert events.shutdown("node-a", begins=False) in life.round()


def test_a_deleted_node_stays_deleted() -> None:
    """Whoever deletes a Node wants the machine gone; only a new agent registers again."""
    life = Life(facts(runtime_ready_at=NOW + 600))
    life.decider.fold(seen(existing()))
    life.round()
    life.decider.fold(Vanished(NODES, "", "node-a", "u1"))
    assert (life.round(), life.round(600), life.decider.uid) == ([], [], "")
    life.decider.fold(seen(existing()))
    assert [type(action) for action in life.round()] == [PatchObject]


def test_a_node_need_not_register() -> None:
    life = Life(given=settings(register=False))
    assert life.round() == [STARTING]
    life.decider.fold(seen(existing()))
    assert [type(action) for action in life.round()] == [PatchObject]


def test_pod_networks_are_known() -> None:
    """Those of this node, whatever else a feed may bring."""
    life = Life()
    ranges = [life.decider.pod_cidrs]
    life.decider.fold(seen(existing(podCIDR="10.1.0.0/24", podCIDRs=["10.1.0.0/24"])))
    ranges.append(life.decider.pod_cidrs)
    other = existing()
    other["metadata"]["name"] = "node-b"
    life.decider.fold(seen(other))
    ranges.append(life.decider.pod_cidrs)
    assert ranges == [(), ("10.1.0.0/24",), ("10.1.0.0/24",)]


def test_events_are_worded_as_recorded() -> None:
    """Every event that the recorded kubelet told about its node, in type, reason and text."""
    known = [
        STARTING,
        events.invalid_disk_capacity("node-a"),
        events.allocatable_enforced("node-a", ""),
        *news("NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"),
        *news("NodeNotReady", "NodeReady"),
        events.rebooted("node-a", "<uuid>"),
        events.rebooted("node-a", "<bootID>"),
    ]
    recorded = [
        (event["type"], event["reason"], event["message"])
        for event in LIFE["events"]
        if event["component"] == "kubelet" and event["reason"] != "MissingClusterDNS"
    ]
    assert [(event.type, event.reason, event.message) for event in known] == recorded
    assert {"uid" in event.about for event in known} == {False}
