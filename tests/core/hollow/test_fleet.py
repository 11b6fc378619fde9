"""Hollow nodes: a diary of what is seen and what is done."""

from typing import Any

import msgspec
import pytest

from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.hollow import addresses
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import MACHINE_ANNOTATION, Machine
from flexlet.core.observations import Failed, Seen, Vanished
from flexlet.core.refs import NODES, PODS

NOW = 1_700_000_000.0
_LOST = "2023-11-14T22:20:00Z"


class Diary:
    """A fleet of one node, and the cluster it believes in."""

    def __init__(self, cpus: int = 4) -> None:
        self.fleet = Fleet(("n1",), Machine(cpus=cpus, memory=8 * 1024**3), "0")
        self.now = NOW
        self.node: dict[str, Any] = {}
        (create,) = self.decide()
        assert isinstance(create, CreateObject)
        self.node = create.body | {"metadata": create.body["metadata"] | {"uid": "node-uid"}}
        self.see_node()

    def decide(self) -> tuple[ApiAction, ...]:
        return self.fleet.decide(self.now).actions

    def see_node(self, **annotations: str) -> None:
        self.node["metadata"]["annotations"] = annotations
        self.fleet.fold(Seen(NODES, msgspec.json.encode(self.node)))

    def lose(self) -> None:
        """What a node controller writes that heard nothing for long."""
        for condition in self.node["status"]["conditions"]:
            condition |= {"status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": _LOST}
        self.see_node()

    def see(self, pod: dict[str, Any]) -> list[ApiAction]:
        """The actions about pods once this pod was seen."""
        self.fleet.fold(Seen(PODS, msgspec.json.encode(pod)))
        return [action for action in self.decide() if getattr(action, "ref", PODS) == PODS]

    def run(self, pod: dict[str, Any]) -> dict[str, Any]:
        """See a pod, and apply what is reported to it."""
        for action in self.see(pod):
            if isinstance(action, PatchObject):
                pod = pod | {"status": {**pod.get("status", {}), **action.patch["status"]}}
        self.see(pod)
        return pod


def pod(name: str, cpu: str, generation: int = 1, **meta: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name, "generation": generation, **meta},
        "spec": {"nodeName": "n1", "containers": [container]},
    }


def resized(before: dict[str, Any], cpu: str) -> dict[str, Any]:
    wish = pod(before["metadata"]["name"], cpu, before["metadata"]["generation"] + 1)
    return wish | {"status": before["status"]}


def conditions(subject: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: c.get("reason", "") for c in subject["status"]["conditions"]}


def reasons(actions: list[ApiAction]) -> list[str]:
    return [action.reason for action in actions if isinstance(action, RecordEvent)]


def test_a_node_registers_with_its_machine_and_then_renews_its_lease() -> None:
    diary = Diary()
    assert diary.node["status"]["capacity"]["cpu"] == "4"
    assert diary.node["status"]["declaredFeatures"] == [
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
    ]
    (lease,) = diary.decide()
    assert isinstance(lease, CreateObject)
    assert lease.body["spec"] == {
        "holderIdentity": "n1",
        "leaseDurationSeconds": 40,
        "renewTime": "2023-11-14T22:13:20.000000Z",
    }
    assert diary.decide() == ()
    assert diary.fleet.decide(diary.now).wake_at == NOW + 10
    diary.now += 10
    (renewal,) = diary.decide()
    assert isinstance(renewal, PatchObject)
    diary.fleet.fold(Failed(renewal, 404, "NotFound", "gone"))
    diary.now += 10
    assert isinstance(diary.decide()[0], CreateObject)


def test_a_pod_runs_with_what_it_asked_for() -> None:
    diary = Diary()
    running = diary.run(pod("p", "1"))
    status = running["status"]
    assert status["phase"] == "Running"
    assert status["allocatedResources"] == {"cpu": "1"}
    assert status["containerStatuses"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert conditions(running) == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), ""
    )
    assert diary.see(running) == []


def test_a_pod_that_does_not_fit_is_rejected() -> None:
    (report,) = Diary().see(pod("p", "5"))
    assert isinstance(report, PatchObject)
    assert report.patch["status"]["reason"] == "OutOfcpu"
    assert report.patch["status"]["phase"] == "Failed"


def test_a_resize_that_fits_is_granted_and_told() -> None:
    diary = Diary()
    wish = resized(diary.run(pod("p", "1")), "2")
    actions = diary.see(wish)
    assert isinstance(actions[0], PatchObject)
    assert actions[0].patch["status"]["allocatedResources"] == {"cpu": "2"}
    assert reasons(actions) == ["ResizeStarted", "ResizeCompleted"]


@pytest.mark.parametrize("relief", ["neighbour leaves", "neighbour ends", "neighbour shrinks", "machine grows"])
def test_a_deferred_resize_is_granted_as_soon_as_there_is_room(relief: str) -> None:
    """Deferred while the neighbour holds the room; every kind of relief is noticed at once."""
    diary = Diary()
    neighbour = diary.run(pod("n", "3"))
    wish = resized(diary.run(pod("p", "1")), "2")
    actions = diary.see(wish)
    assert isinstance(actions[0], PatchObject)
    pending = actions[0].patch["status"]["conditions"][-1]
    assert (pending["type"], pending["reason"], pending["observedGeneration"]) == (
        "PodResizePending",
        "Deferred",
        2,
    )
    assert reasons(actions) == ["ResizeDeferred"]
    wish["status"]["conditions"] = actions[0].patch["status"]["conditions"]
    assert diary.see(wish) == []
    if relief == "neighbour leaves":
        diary.fleet.fold(Vanished(PODS, "default", "n", "n"))
    elif relief == "neighbour ends":
        neighbour["status"]["phase"] = "Succeeded"
        diary.fleet.fold(Seen(PODS, msgspec.json.encode(neighbour)))
    elif relief == "neighbour shrinks":
        diary.see(resized(neighbour, "1"))
    else:
        diary.see_node(**{MACHINE_ANNOTATION: '{"cpu": "8"}'})
    granted = [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == PODS]
    if relief != "neighbour shrinks":
        assert [a.patch["status"]["allocatedResources"] for a in granted] == [{"cpu": "2"}]
    assert diary.fleet._pods["p"].held == {"cpu": 2000}


def test_a_wish_larger_than_the_node_is_infeasible_until_it_changes() -> None:
    diary = Diary()
    running = diary.run(pod("p", "1"))
    actions = diary.see(resized(running, "64"))
    assert reasons(actions) == ["ResizeInfeasible"]
    diary.see_node(**{MACHINE_ANNOTATION: '{"cpu": "128"}'})
    assert not [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == PODS]


def test_plugging_publishes_the_new_size() -> None:
    diary = Diary()
    diary.decide()
    diary.see_node(**{MACHINE_ANNOTATION: '{"cpu": "8", "memory": "16Gi"}'})
    patch, event = diary.decide()
    assert isinstance(patch, PatchObject)
    assert patch.patch["status"]["capacity"]["memory"] == "16Gi"
    assert isinstance(event, RecordEvent)
    assert event.message == "Machine is now 8 CPUs, 17179869184 bytes of memory"
    diary.see_node(**{MACHINE_ANNOTATION: "rubbish"})
    assert diary.decide() == ()


def test_an_ending_pod_is_removed_for_good() -> None:
    diary = Diary()
    running = diary.run(pod("p", "1"))
    running["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert diary.see(running) == [DeleteObject(ref=PODS, namespace="default", name="p", uid="p", grace_seconds=0)]


def test_a_pod_of_a_job_finishes_by_itself() -> None:
    diary = Diary()
    owner = [{"kind": "Job", "name": "j", "uid": "j", "controller": True}]
    running = diary.run(pod("p", "1", ownerReferences=owner))
    diary.now += 1
    (done,) = [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == PODS]
    assert done.patch["status"]["phase"] == "Succeeded"
    running["status"] = done.patch["status"]
    diary.see(running)
    assert diary.fleet.nodes["n1"].used == {"cpu": 0}


def test_after_a_restart_the_allocation_is_read_back() -> None:
    """A resize that was deferred before the restart is still deferred, not silently granted."""
    before, after = Diary(), Diary()
    neighbour = before.run(pod("n", "3"))
    wish = resized(before.run(pod("p", "1")), "2")
    after.see(neighbour)
    assert reasons(after.see(wish)) == ["ResizeDeferred"]
    assert {uid: entry.held for uid, entry in after.fleet._pods.items()} == {
        "n": {"cpu": 3000},
        "p": {"cpu": 1000},
    }


def test_after_a_restart_a_wish_that_was_taken_back_is_seen() -> None:
    """What was said of it does not stay."""
    before, after = Diary(), Diary()
    before.run(pod("n", "3"))
    waits = before.run(resized(before.run(pod("p", "1")), "2"))
    assert conditions(waits)["PodResizePending"] == "Deferred"
    taken_back = after.run(resized(waits, "1"))
    assert "PodResizePending" not in conditions(taken_back)
    assert taken_back["status"]["observedGeneration"] == 3
    assert after.see(taken_back) == []


def test_after_a_restart_addresses_go_on_where_they_were() -> None:
    """A pod keeps its address, and a new one does not get it a second time."""
    before, after = Diary(), Diary()
    first = before.run(pod("a", "1"))
    after.see(first)
    second = after.run(pod("b", "1"))
    assert (first["status"]["podIP"], second["status"]["podIP"]) == ("10.64.0.1", "10.64.0.2")


@pytest.mark.parametrize(("index", "address"), [(1, "10.64.0.1"), (256, "10.64.1.0"), (4194303, "10.127.255.255")])
def test_addresses_round_trip(index: int, address: str) -> None:
    assert (addresses.address_of(index), addresses.index_of(address)) == (address, index)


@pytest.mark.parametrize("address", ["", "10.1.2.3", "fe80::1", "10.64.0.x"])
def test_foreign_addresses_are_nobodys(address: str) -> None:
    assert addresses.index_of(address) == 0


def test_a_node_declares_what_its_gates_allow() -> None:
    (create,) = Fleet(("n",), Machine(), "0", ["B", "A"]).decide(NOW).actions
    assert isinstance(create, CreateObject)
    assert create.body["status"]["declaredFeatures"] == ["A", "B"]


def test_a_node_that_was_marked_unknown_says_that_it_is_well() -> None:
    """A kubelet would; without it the node stayed Unknown for ever, though its lease was renewed."""
    diary = Diary()
    diary.decide()
    well = [dict(condition) for condition in diary.node["status"]["conditions"]]
    diary.lose()
    (said,) = diary.decide()
    assert isinstance(said, PatchObject)
    assert (said.ref, said.name, said.kind, said.subresource) == (NODES, "n1", "strategic", "status")
    assert said.patch == {"status": {"conditions": well}}
    assert said.event is not None
    assert (said.event.reason, said.event.message) == ("NodeReady", "Node n1 status is now: NodeReady")
    assert diary.decide() == ()


def test_a_condition_that_nobody_touched_keeps_its_time() -> None:
    diary = Diary()
    diary.decide()
    diary.node["status"]["conditions"][0] |= {"status": "Unknown", "lastTransitionTime": _LOST}
    diary.see_node()
    diary.now += 5
    (said,) = diary.decide()
    assert isinstance(said, PatchObject)
    times = {c["type"]: c["lastTransitionTime"] for c in said.patch["status"]["conditions"]}
    assert times == dict.fromkeys(("DiskPressure", "PIDPressure", "Ready"), "2023-11-14T22:13:20Z") | {
        "MemoryPressure": "2023-11-14T22:13:25Z"
    }
    assert said.event is None


def test_what_a_node_could_not_say_is_said_with_its_next_lease() -> None:
    """Neither forgotten nor repeated in a hurry."""
    diary = Diary()
    diary.decide()
    diary.lose()
    (said,) = diary.decide()
    diary.fleet.fold(Failed(said, 503, "ServiceUnavailable", "busy"))
    assert diary.decide() == ()
    diary.now += 10
    again = [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == NODES]
    assert [set(a.patch["status"]) for a in again] == [{"conditions"}]


def test_a_size_that_could_not_be_published_is_published_with_the_next_lease() -> None:
    diary = Diary()
    diary.decide()
    diary.see_node(**{MACHINE_ANNOTATION: '{"cpu": "8"}'})
    patch, _ = diary.decide()
    diary.fleet.fold(Failed(patch, 503, "ServiceUnavailable", "busy"))
    assert diary.decide() == ()
    diary.now += 10
    again = [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == NODES]
    assert [a.patch["status"]["capacity"]["cpu"] for a in again] == ["8"]


def test_pods_of_a_lost_node_are_ready_again_after_it_is() -> None:
    """The controller that called them unready never takes that back; the node does, when it is believed again."""
    diary = Diary()
    running = diary.run(pod("p", "1"))
    healthy = [dict(condition) for condition in diary.node["status"]["conditions"]]
    diary.lose()
    ready = next(c for c in running["status"]["conditions"] if c["type"] == "Ready")
    ready["status"] = "False"
    assert diary.see(running) == []
    diary.node["status"]["conditions"] = healthy
    diary.see_node()
    (said,) = [a for a in diary.decide() if isinstance(a, PatchObject) and a.ref == PODS]
    (condition,) = said.patch["status"]["conditions"]
    assert (said.kind, condition["type"], condition["status"]) == ("strategic", "Ready", "True")
    ready["status"] = "True"
    assert diary.see(running) == []
