"""Moves between two pods: every phase, what fails in each, and what is never lost."""

from typing import Any

import pytest
from tests.core.vm.vmworld import KEY, POD, Bench, gib, machine_spec

from flexlet.api.patch.merge import apply as merge_patch
from flexlet.core.actions import ApiPlan, CreateObject, PatchObject
from flexlet.core.observations import Failed, Vanished
from flexlet.core.vm import names
from flexlet.core.vm.decider import Launcher
from flexlet.core.vm.guest import Listen, MigrateCancel, MigrateTo, Move, Order, Report, SetSize
from flexlet.core.vm.migratable import not_migratable

Json = dict[str, Any]


class Movers(Bench):
    """The bench with a move, and launchers at both ends."""

    def __init__(self, spec: Json | None = None) -> None:
        super().__init__(spec)
        self.move: Json = {
            "metadata": {"name": "m", "namespace": "default", "uid": "m-1"},
            "spec": {"vmName": "db"},
        }
        self.told_all: list[tuple[str, Order]] = []
        self.live()
        self.told_all.clear()

    def turn(self) -> ApiPlan:
        plan = self.decider.decide(self.now)
        for action in plan.actions:
            if isinstance(action, PatchObject) and action.ref == names.MIGRATIONS:
                self.move = merge_patch(self.move, action.patch)
                self.see(names.MIGRATIONS, self.move)
            else:
                self._do(action)
        for launcher, order in self.decider.take_orders():
            self.told_all.append((launcher.pod, order))
            if isinstance(order, SetSize):
                self.told, self.launcher = order, launcher
        return plan

    def begin(self, **spec: Any) -> "Movers":
        self.move["spec"] |= spec
        self.see(names.MIGRATIONS, self.move)
        self.settle()
        return self

    @property
    def target(self) -> str:
        return str(self.move["status"]["targetPod"])

    @property
    def state(self) -> str:
        return str(self.move["status"]["phase"])

    @property
    def orders_now(self) -> list[tuple[str, Order]]:
        taken, self.told_all = self.told_all, []
        return list(dict.fromkeys(taken))

    def arrive(self) -> "Movers":
        """A node takes the target and starts it."""
        self.run("n2", self.target)
        self.pods[self.target]["status"]["podIP"] = "10.0.0.2"
        self.see_pod(self.target)
        self.settle()
        return self

    def hear(self, pod: str, **said: Any) -> "Movers":
        meta = self.pods[pod]["metadata"]
        report = Report(**said)
        self.decider.learn_report(Launcher("default", pod, meta["uid"], "n2"), report, self.now)
        self.settle()
        return self

    def listening(self) -> "Movers":
        """The target listens, and the source has been told where."""
        self.arrive().hear(self.target, run_state="Incoming")
        ((pod, order),) = self.orders_now
        assert (pod, type(order)) == (self.target, Listen)
        assert isinstance(order, Listen)
        self.hear(self.target, run_state="Incoming", message=f"waits for the machine at {order.address}")
        return self

    def sent(self) -> MigrateTo:
        ((pod, order),) = self.orders_now
        assert pod == POD
        assert isinstance(order, MigrateTo)
        return order


def test_a_machine_moves() -> None:
    bench = Movers().begin()
    bench.wish(8, "16Gi").settle()
    assert bench.state == "Scheduling"
    pod = bench.pods[bench.target]
    assert pod["metadata"]["labels"][names.MIGRATION_LABEL] == "m-1"
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]
    assert pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] == {
        "nodeSelectorTerms": [{"matchFields": fields}]
    }
    bench.listening()
    assert bench.state == "Running"
    order = bench.sent()
    assert order.address.startswith("tcp:10.0.0.2:")
    bench.say(POD, move=Move("Active", 1, address=order.address)).settle()
    assert bench.orders_now == []
    assert bench.status["printableStatus"] == "Migrating"
    done = Move("Completed", gib(8), 6900, 240, address=order.address)
    bench.say(POD, run_state="Migrated", move=done).settle()
    assert (bench.state, POD in bench.pods) == ("Running", True)
    bench.hear(bench.target, run_state="Running", vcpus=4, memory=gib(8), requested=gib(8))
    assert bench.state == "Succeeded"
    assert names.MIGRATION_LABEL not in bench.pods[bench.target]["metadata"]["labels"]
    assert "deletionTimestamp" in bench.pods[POD]["metadata"]
    said = bench.move["status"]
    assert (said["transferredBytes"], said["totalMilliseconds"], said["downtimeMilliseconds"]) == (
        gib(8),
        6900,
        240,
    )
    assert (said["sourceNode"], said["targetNode"]) == ("n1", "n2")
    bench.settle()
    assert (bench.status["pod"]["name"], bench.status["nodeName"]) == (bench.target, "n2")


def test_the_new_pod_has_room_for_what_is_wanted() -> None:
    """And its machine is as the old one is now: what is wanted is plugged there."""
    bench = Movers()
    bench.wish(8, "16Gi")
    bench.see(names.MIGRATIONS, bench.move)
    bench.settle()
    pod = bench.pods[bench.target]
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "800m", "memory": "16760Mi"}
    scene = bench.decider.scene("default", "db")
    assert scene is not None
    machine = next(p.machine for p in scene.pods if p.migration)
    assert machine is not None
    assert (machine.sockets, machine.memory, machine.incoming) == (4, gib(8), True)
    assert (machine.max_sockets, machine.min_memory, machine.max_memory) == (16, gib(4), gib(16))


def test_nothing_is_resized_meanwhile() -> None:
    bench = Movers().begin()
    bench.wish(8, "16Gi").settle()
    assert (bench.sizes, bench.orders_now) == ([], [])


def failed(bench: Movers) -> str:
    """Why it failed; the source is as it was, and the target is gone or going."""
    assert bench.state == "Failed"
    assert "deletionTimestamp" not in bench.pods[POD]["metadata"]
    left = bench.pods.get(bench.move["status"].get("targetPod", ""))
    assert left is None or "deletionTimestamp" in left["metadata"] or left["status"]["phase"] == "Failed"
    scene = bench.decider.scene("default", "db")
    assert scene is not None
    assert (scene.is_moving, scene.pod and scene.pod.name) == (False, POD)
    return str(bench.move["status"]["message"])


def test_no_node_in_time() -> None:
    bench = Movers().begin()
    stuck = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    bench.pods[bench.target]["status"] = {"phase": "Pending", "conditions": [stuck]}
    bench.see_pod(bench.target)
    bench.wait(299).settle()
    assert bench.state == "Scheduling"
    bench.wait(2).settle()
    assert failed(bench) == "no node was found: Unschedulable: 0/1 nodes"


def test_a_quota_that_refuses_the_second_pod() -> None:
    bench = Movers()
    bench.see(names.MIGRATIONS, bench.move)
    plan = bench.decider.decide(bench.now)
    for action in plan.actions:
        if isinstance(action, PatchObject) and action.ref == names.MIGRATIONS:
            bench.move = merge_patch(bench.move, action.patch)
            bench.see(names.MIGRATIONS, bench.move)
        elif isinstance(action, CreateObject):
            bench.decider.fold(Failed(action, 403, "Forbidden", "exceeded quota: q"))
        else:
            bench._do(action)
    bench.settle().wait(5).settle()  # not at once after a refusal
    assert failed(bench) == "the new pod was refused: exceeded quota: q"


def test_a_target_that_does_not_start() -> None:
    bench = Movers().begin().arrive()
    bench.end(name=bench.target).settle()
    assert failed(bench) == "its new pod has ended: Error: exit code 139"


def test_a_copy_that_fails_leaves_the_source() -> None:
    bench = Movers().begin().listening()
    bench.say(POD, move=Move("Failed", message="Connection refused", address=bench.sent().address)).settle()
    assert failed(bench) == "Connection refused"
    bench.gone(bench.target)
    bench.wish(8).settle()
    assert bench.sizes == ["800m/8552Mi"]


def test_an_older_failure_is_not_this_one() -> None:
    bench = Movers()
    bench.say(POD, move=Move("Failed", message="long ago", address="tcp:10.9.9.9:1"))
    bench.begin().listening()
    bench.sent()
    assert bench.state == "Running"


def test_a_copy_that_never_ends_is_called_off() -> None:
    """150 s for each GiB, as KubeVirt allows; the guest writes faster than the network."""
    bench = Movers().begin().listening()
    active = Move("Active", 1, address=bench.sent().address)
    bench.say(POD, move=active).settle()
    bench.wait(600 + 8 * 150 - 1).settle()
    assert bench.orders_now == []
    bench.wait(2).settle()
    assert bench.orders_now == [(POD, MigrateCancel())]
    bench.say(POD, move=Move("Cancelled", address=active.address)).settle()
    assert failed(bench) == "it took too long and was called off"


def test_a_source_that_dies_on_the_way_is_started_anew() -> None:
    bench = Movers().begin().listening()
    bench.sent()
    bench.end().settle()
    assert bench.state == "Failed"
    assert bench.move["status"]["message"] == "the machine has ended"
    assert "deletionTimestamp" in bench.pods[bench.target]["metadata"]


def test_a_move_that_is_deleted_is_called_off() -> None:
    bench = Movers().begin().listening()
    active = Move("Active", 1, address=bench.sent().address)
    bench.say(POD, move=active).settle()
    bench.decider.fold(Vanished(names.MIGRATIONS, "default", "m", "m-1"))
    bench.settle()
    assert bench.orders_now == [(POD, MigrateCancel())]
    bench.say(POD, move=Move("Cancelled", address=active.address)).settle()
    assert "deletionTimestamp" in bench.pods[bench.target]["metadata"]
    assert "deletionTimestamp" not in bench.pods[POD]["metadata"]


def test_a_move_that_is_deleted_too_late_has_happened() -> None:
    """The machine is where it runs, whoever has forgotten why."""
    bench = Movers().begin().listening()
    address = bench.sent().address
    bench.hear(bench.target, run_state="Running", vcpus=4, memory=gib(8), requested=gib(8))
    bench.decider.fold(Vanished(names.MIGRATIONS, "default", "m", "m-1"))
    bench.say(POD, run_state="Migrated", move=Move("Completed", address=address)).settle()
    assert names.MIGRATION_LABEL not in bench.pods[bench.target]["metadata"]["labels"]
    assert "deletionTimestamp" in bench.pods[POD]["metadata"]
    assert "deletionTimestamp" not in bench.pods[bench.target]["metadata"]


@pytest.mark.parametrize("phase", ["Scheduling", "Preparing", "Running"])
def test_a_controller_that_starts_anew_goes_on(phase: str) -> None:
    """It waits until both ends have spoken, and does nothing twice that matters."""
    bench = Movers().begin()
    if phase == "Preparing":
        bench.arrive()
    if phase == "Running":
        bench.listening()
        bench.sent()
    assert bench.state == phase
    bench.restart()
    bench.see(names.MIGRATIONS, bench.move)
    made = dict(bench.pods)
    bench.settle()
    assert (bench.state, list(bench.pods)) == (phase, list(made))
    assert not any("deletionTimestamp" in pod["metadata"] for pod in bench.pods.values())


@pytest.mark.parametrize(
    ("spec", "move", "message"),
    [
        (None, {"nodeName": "n1"}, "the machine is on node n1 already: name another one, or none"),
        (
            {"volumes": [{"name": "root", "emptyDisk": {"capacity": "1Gi"}}]},
            {},
            (
                "DisksNotLiveMigratable: disk root is only in its pod: make it readonly, or use a hostDisk that is"
                " shared by all nodes"
            ),
        ),
    ],
)
def test_what_cannot_be_moved(spec: Json | None, move: Json, message: str) -> None:
    body = machine_spec()
    body["template"]["spec"] |= spec or {}
    bench = Movers(body).begin(**move)
    assert failed(bench) == message


def test_a_machine_that_is_off() -> None:
    bench = Movers(machine_spec(run={"runStrategy": "Always"}))
    bench.change({"runStrategy": "Halted"}).settle().gone()
    bench.begin()
    assert (bench.state, bench.move["status"]["message"]) == ("Failed", "the machine does not run: start it first")


def test_a_machine_that_does_not_exist() -> None:
    bench = Movers()
    bench.move["spec"]["vmName"] = "other"
    bench.begin()
    assert bench.move["status"]["message"] == "there is no FlexVM other: name one of this namespace"


def test_one_move_at_a_time() -> None:
    bench = Movers().begin()
    second = {"metadata": {"name": "z", "namespace": "default", "uid": "m-2"}, "spec": {"vmName": "db"}}
    bench.see(names.MIGRATIONS, second)
    (action,) = [
        action
        for action in bench.decider.decide(bench.now).actions
        if isinstance(action, PatchObject) and action.name == "z"
    ]
    assert action.patch == {"status": {"phase": "Pending", "message": "waits for FlexVMMigration m"}}
    assert (action.on_behalf_of, action.subresource) == (KEY, "status")


def test_what_can_be_moved() -> None:
    shared = {"name": "a", "hostDisk": {"path": "/nfs/a", "shared": True}}
    fixed = {"name": "b", "containerDisk": {"image": "i"}}
    body = machine_spec(devices={"disks": [{"name": "b", "disk": {"readonly": True}}]})
    body["template"]["spec"]["volumes"] = [shared, fixed]
    bench = Bench(body)
    scene = bench.decider.scene("default", "db")
    assert scene is not None
    assert not_migratable(scene.vm) is None
