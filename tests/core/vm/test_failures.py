"""The failure matrix of vm-resize.md §5.1, row by row."""

import pytest
from tests.core.vm.vmworld import Bench, Json, gib, machine_spec, node, node_size, quota, size_text

from flexlet.core.actions import ApiPlan, CreateObject, PatchObject
from flexlet.core.vm import names
from flexlet.core.vm.guest import Answer
from flexlet.core.vm.settings import Settings

NO_ROOM = "Node didn't have enough capacity: memory, requested: 17540579328, capacity: 12884901888"
TOO_BIG = (
    'pods "virt-launcher-db" is forbidden: node didn\'t have enough allocatable resources:'
    " memory, requested: 17540579328, allocatable: 12884901888"
)
QUOTA = (
    'pods "virt-launcher-db" is forbidden: exceeded quota: q, requested: requests.memory=8208Mi,'
    " used: requests.memory=20Gi, limited: requests.memory=24Gi"
)


def policy(**parts: str) -> Bench:
    return Bench(machine_spec(policy=parts)).live()


def test_a_deferred_grow_leaves_the_guest_alone_and_is_told_once() -> None:
    bench = policy().wish(guest="16Gi").settle().pend("Deferred", "no room").settle()
    bench.wait(100).pend("Deferred", "no room yet").settle()
    assert (bench.phase, bench.orders, bench.events) == (
        "PodDeferred",
        [(4, 8)],
        ["VMResizeStarted", "PodResizeDeferred"],
    )


def test_after_the_timeout_a_deferred_grow_is_taken_back_if_it_is_to_fail() -> None:
    bench = policy(fallback="Fail").wish(guest="16Gi").settle().pend("Deferred", "no room").settle()
    bench.wait(299).settle()
    assert bench.sizes == ["400m/16728Mi"]
    bench.wait(1).settle()
    assert bench.sizes == ["400m/16728Mi", "400m/8520Mi"]
    bench.grant().settle()
    assert (bench.phase, bench.resize["fallback"], bench.resize["message"]) == (
        "Failed",
        "Fail",
        "the node has had no room for 300 s: no room",
    )
    assert bench.condition("HotMemoryChange") == ("False", "Deferred")
    assert bench.events[2:] == ["VMResizeFallback", "VMResizeFailed"]


def test_the_patience_with_a_full_node_can_be_chosen() -> None:
    bench = policy(fallback="Fail", deferTimeout="10s").wish(guest="16Gi").settle().pend("Deferred").settle()
    plan = bench.turn()
    assert plan.wake_at == bench.now + 10
    bench.wait(10).settle()
    assert bench.sizes[-1] == "400m/8520Mi"


def test_an_infeasible_grow_falls_back_at_once() -> None:
    bench = policy(fallback="Restart").wish(guest="16Gi").settle().pend("Infeasible", NO_ROOM).settle()
    assert (bench.sizes, bench.condition("RestartRequired")) == (
        ["400m/16728Mi", "400m/8520Mi"],
        ("True", "RestartRequired"),
    )
    bench.grant().settle()
    assert (bench.phase, bench.events) == (
        "Failed",
        ["VMResizeStarted", "PodResizeInfeasible", "VMResizeFallback", "VMResizeFailed"],
    )


def test_a_grow_beyond_the_node_falls_back_at_once() -> None:
    bench = policy().wish(guest="16Gi")
    bench.refuse(403, TOO_BIG)
    bench.settle()
    assert (bench.phase, bench.sizes, bench.condition("HotMemoryChange")) == (
        "Failed",
        [],
        ("False", "NodeCapacity"),
    )
    assert "allocatable: 12884901888" in bench.resize["message"]


def test_a_grow_beyond_the_node_is_tried_again_when_the_node_has_grown() -> None:
    bench = policy()
    bench.see(*node(16, "12Gi"))
    bench.wish(guest="16Gi")
    bench.refuse(403, TOO_BIG)
    bench.settle()
    bench.see(*node(16, "20Gi"))
    bench.settle()
    assert bench.sizes == ["400m/16728Mi"]


def test_migration_is_made_once_and_the_wish_withdrawn() -> None:
    bench = policy(fallback="Migrate").wish(guest="16Gi").settle().pend("Infeasible", NO_ROOM)
    plan = bench.turn()
    made = [a for a in plan.actions if isinstance(a, CreateObject)]
    assert made == [
        CreateObject(
            ref=names.MIGRATIONS,
            namespace="default",
            body={
                "kind": "FlexVMMigration",
                "apiVersion": "vm.flexlet.io/v1alpha1",
                "metadata": {
                    "name": "db-a3b2be1f",
                    "namespace": "default",
                    "ownerReferences": [
                        {"apiVersion": "vm.flexlet.io/v1alpha1", "kind": "FlexVM", "name": "db", "uid": "vm-1"}
                    ],
                },
                "spec": {"vmName": "db"},
            },
            on_behalf_of="default/db",
        )
    ]
    bench.settle().grant().settle()
    assert (bench.sizes, len(bench.others), bench.resize["fallback"]) == (
        ["400m/16728Mi", "400m/8520Mi"],
        1,
        "Migrate",
    )


def test_a_quota_is_told_with_what_is_needed_and_free_and_tried_again_when_it_changes() -> None:
    bench = policy(fallback="Restart")
    bench.see(*quota("24Gi"))
    bench.settle().wish(guest="16Gi")
    bench.refuse(403, QUOTA)
    bench.settle()
    assert (bench.phase, bench.resize["message"]) == (
        "Failed",
        "quota q: requests.memory: 8208Mi more needed, 4Gi free",
    )
    assert (bench.condition("HotMemoryChange"), bench.condition("RestartRequired")) == (
        ("False", "QuotaExceeded"),
        None,
    )
    bench.see(*quota("32Gi"))
    bench.settle()
    assert (bench.phase, bench.sizes) == ("PodGrowing", ["400m/16728Mi"])


def test_a_quota_that_changes_while_an_attempt_is_on_its_way_is_tried_again() -> None:
    bench = policy()
    bench.see(*quota("24Gi"))
    bench.settle().wish(guest="16Gi")
    on_its_way = bench.decider.decide(bench.now)
    bench.see(*quota("32Gi"))
    bench.refuse(403, QUOTA, on_its_way)
    bench.settle()
    assert (bench.phase, bench.sizes) == ("PodGrowing", ["400m/16728Mi"])


def test_a_second_attempt_that_a_quota_refuses_for_what_it_was_is_followed_by_a_third() -> None:
    """The quota's spec changes, then its status: only with the latter it grants more."""
    bench = policy()
    bench.see(*quota("24Gi"))
    bench.settle().wish(guest="16Gi")
    bench.refuse(403, QUOTA)
    bench.settle().see(*quota("31Gi"))
    on_its_way = bench.decider.decide(bench.now)
    bench.see(*quota("32Gi"))
    bench.refuse(403, QUOTA, on_its_way)
    bench.settle()
    assert (bench.phase, bench.sizes) == ("PodGrowing", ["400m/16728Mi"])


def test_cpu_and_memory_that_a_quota_refuses_do_not_take_turns_for_ever() -> None:
    bench = policy()
    bench.settle().wish(vcpus=8, guest="16Gi")
    on_its_way = bench.decider.decide(bench.now)
    bench.see(*quota("24Gi"))
    attempts = _refused_until_quiet(bench, on_its_way)
    assert (bench.phase, [(each["resource"], each["reason"]) for each in bench.resize["setbacks"]]) == (
        "Failed",
        [("cpu", "QuotaExceeded"), ("memory", "QuotaExceeded")],
    )
    assert attempts == ["800m/8552Mi", "400m/16728Mi"] * 2


def _refused_until_quiet(bench: Bench, plan: ApiPlan) -> list[str]:
    """The API refuses every resize; those that were asked for."""
    asked = []
    for _ in range(20):
        asked += [
            size_text(action.patch["spec"]["containers"][0]["resources"]["requests"])
            for action in plan.actions
            if isinstance(action, PatchObject) and action.subresource == "resize"
        ]
        if not bench.refuse(403, QUOTA, plan).actions:
            return asked
        plan = bench.decider.decide(bench.now)
    raise AssertionError(f"it never gives up: {asked}")


def test_a_limit_range_ends_it() -> None:
    bench = policy().wish(guest="16Gi")
    bench.refuse(
        403, 'pods "virt-launcher-db" is forbidden: maximum memory usage per Container is 10Gi, but limit is'
    )
    bench.settle()
    assert (bench.phase, bench.condition("HotMemoryChange")) == ("Failed", ("False", "LimitRange"))
    bench.wait(4000).settle()
    assert bench.sizes == []


def test_what_failed_is_tried_again_on_request() -> None:
    bench = policy().wish(guest="16Gi")
    bench.refuse(403, TOO_BIG)
    bench.settle().annotate(requested="now").settle()
    assert (bench.sizes, bench.resize["id"]) == (["400m/16728Mi"], "g2-now")


@pytest.mark.parametrize("code", [409, 500, 503])
def test_trouble_of_the_server_changes_nothing(code: int) -> None:
    bench = policy().wish(guest="16Gi")
    bench.refuse(code, "leader changed")
    bench.turn()
    assert (bench.phase, bench.sizes) == ("PodGrowing", [])
    bench.wait(1).settle()
    assert bench.sizes == ["400m/16728Mi"]


def test_a_shrink_that_the_node_defers_is_no_failure() -> None:
    bench = policy(fallback="Fail").wish(guest="4Gi").settle().obey().settle().pend("Deferred", "DiskPressure")
    bench.settle().wait(4000).settle()
    assert (bench.phase, bench.sizes, bench.events) == ("PodShrinking", ["400m/4416Mi"], ["VMResizeStarted"])
    bench.grant().settle()
    assert bench.phase == "Done"


def test_a_resize_that_the_node_cannot_carry_out_is_taken_back_after_a_while() -> None:
    bench = policy().wish(8).settle().trouble("cannot write cpu.weight").settle()
    assert (bench.phase, bench.resize["message"]) == (
        "PodGrowing",
        "pod to 800m CPU and 8552Mi: cannot write cpu.weight",
    )
    bench.wait(120).settle()
    assert (bench.sizes, bench.condition("HotVCPUChange")) == (
        ["800m/8552Mi", "400m/8520Mi"],
        ("False", "ActuationError"),
    )


def test_a_plug_that_fails_is_tried_three_times_and_the_pod_given_back() -> None:
    bench = policy().wish(8).settle().grant().settle()
    for seconds in (1, 2):
        bench.obey(vcpus=4, cpu=Answer("Failed", "no free slot", 1)).settle().wait(seconds).settle()
    assert bench.orders[1:] == [(8, 8)] * 3
    bench.obey(vcpus=4, cpu=Answer("Failed", "no free slot", 1)).settle().obey().settle().grant().wait(1).settle()
    assert (bench.sizes, bench.phase, bench.condition("HotVCPUChange")) == (
        ["800m/8552Mi", "400m/8520Mi"],
        "Failed",
        ("False", "PlugFailed"),
    )
    assert bench.resize["message"] == "the guest could not be given more cpu: no free slot; tried 3 times"


def test_a_launcher_that_tried_often_enough_is_believed() -> None:
    bench = policy().wish(guest="9Gi").settle().grant().settle()
    bench.obey(memory=gib(8), requested=gib(8), ram=Answer("Failed", "Cannot allocate memory", 3)).settle()
    assert (bench.orders[-1], bench.condition("HotMemoryChange")) == ((4, 8), ("False", "PlugFailed"))


def test_a_plug_that_fails_halfway_keeps_what_the_guest_has() -> None:
    bench = policy().wish(8).settle().grant().settle()
    bench.obey(vcpus=6, cpu=Answer("Failed", "no free slot", 3)).settle().obey().settle().grant().settle()
    assert (bench.orders[-1], bench.sizes) == ((6, 8), ["800m/8552Mi", "600m/8536Mi"])


def test_cpus_that_the_guest_does_not_use_are_told_and_paid_for() -> None:
    bench = policy().wish(8).settle().grant().settle().obey(vcpus_online=4).settle()
    assert bench.phase == "Done"
    bench.wait(30).settle()
    assert (bench.phase, bench.events[-1], bench.sizes) == ("Done", "GuestNotOnlined", ["800m/8552Mi"])
    bench.obey(vcpus_online=8).wait(2).settle()
    assert "message" not in bench.resize


def test_memory_that_the_guest_does_not_take_is_told_and_paid_for() -> None:
    bench = policy().wish(guest="9Gi").settle().grant().settle()
    bench.obey(memory=gib(8), ram=Answer("Changing")).settle().wait(120).settle()
    assert (bench.events[-1], bench.sizes) == ("VMResizeCompleted", ["400m/9546Mi"])
    assert "GuestNotOnlined" in bench.events


def test_a_guest_that_is_slow_to_take_a_step_keeps_the_room_for_the_next_ones() -> None:
    bench = policy().wish(guest="16Gi").settle().grant().settle()
    slow = Answer("Partial", "9Gi instead of 10Gi: the guest goes on trying")
    bench.obey(memory=gib(9), requested=gib(10), ram=slow).settle().wait(10).settle()
    assert (bench.orders[-1], bench.sizes, bench.phase) == ((4, 10), ["400m/16728Mi"], "GuestChanging")
    bench.obey().settle()
    assert (bench.orders[-1], bench.sizes) == ((4, 12), ["400m/16728Mi"])


def test_a_line_that_breaks_is_waited_for_and_the_order_repeated() -> None:
    bench = policy().wish(8).settle().grant().settle()
    bench.decider.lost_line(bench.launcher, bench.now)
    bench.settle()
    assert (bench.phase, bench.condition("Ready")) == ("GuestChanging", ("False", "NoWordFromLauncher"))
    bench.say().settle()
    assert bench.orders[1:] == [(8, 8), (8, 8)]
    bench.obey().wait(1).settle()
    assert bench.phase == "Done"


def test_memory_kills_during_a_grow_are_counted() -> None:
    bench = policy().wish(guest="9Gi").settle().end(code=137).settle()
    assert bench.decider.tally.ooms == 1


def test_a_node_that_can_be_plugged_is_made_larger_before_any_fallback() -> None:
    bench = policy(fallback="Fail")
    bench.see(*node(16, "12Gi"))
    machine: Json = {
        "via": "Auto",
        "machine": {"qmp": "/run/n1.sock"},
        "target": {"effective": {"memory": "11Gi"}},
    }
    bench.see(*node_size({"cpu": "16", "memory": "12Gi"}, {"cpu": "1m", "memory": "16Mi"}, **machine))
    bench.wish(guest="16Gi")
    bench.refuse(403, TOO_BIG)
    bench.settle()
    assert bench.others == [{"spec": {"target": {"effective": {"memory": "16728Mi"}}}}]
    assert (bench.phase, bench.resize["remedy"]) == ("PodDeferred", "node n1 was asked for memory 4440Mi more")
    bench.wait(20).see(*node(16, "17Gi"))
    bench.settle().grant().settle()
    assert (bench.sizes, bench.orders[-1]) == (["400m/16728Mi"], (4, 10))


def test_a_node_that_was_asked_in_vain_is_not_waited_for_longer_than_others() -> None:
    bench = policy(fallback="Fail")
    bench.see(*node(16, "12Gi"))
    machine: Json = {"via": "Auto", "machine": {"qmp": "/run/n1.sock"}}
    bench.see(*node_size({"cpu": "16", "memory": "12Gi"}, {"cpu": "1m", "memory": "16Mi"}, **machine))
    bench.wish(guest="16Gi")
    bench.refuse(403, TOO_BIG)
    bench.settle().wait(300).settle()
    assert (bench.phase, bench.resize["fallback"], len(bench.others)) == ("Failed", "Fail", 1)


def test_a_balloon_that_is_too_small_is_left_alone() -> None:
    bench = policy()
    bench.see(*node(16, "10Gi"))
    bench.see(*node_size({"cpu": "16", "memory": "9Gi"}, {"cpu": "1m", "memory": "1Gi"}))
    bench.wish(guest="16Gi").settle().pend("Deferred").settle()
    assert bench.others == []


def test_nothing_is_resized_while_the_machine_moves() -> None:
    bench = policy()
    migration = {"metadata": {"name": "m", "namespace": "default", "uid": "m-1"}, "spec": {"vmName": "db"}}
    bench.see(names.MIGRATIONS, {**migration, "status": {"phase": "Running"}})
    bench.wish(8).settle()
    assert (bench.sizes, bench.orders, bench.phase) == ([], [(4, 8)], "Migrating")
    bench.see(names.MIGRATIONS, {**migration, "status": {"phase": "Failed"}})
    bench.settle()
    assert bench.sizes == ["800m/8552Mi"]


def test_a_measured_overhead_corrects_the_pod_when_it_is_off() -> None:
    bench = Bench(machine_spec(run={"overheadModel": "measured"}))
    bench.live()
    formula = (64 + 50 + 16 + 32 + 32) << 20
    for _ in range(12):
        bench.say(resident=formula + (100 << 20)).wait(1).settle()
    assert bench.sizes == ["400m/8486Mi"]
    bench.grant().wait(1).settle()
    assert bench.status["memory"]["overheadCorrection"] == "100Mi"
    assert bench.pods["virt-launcher-db"]["metadata"]["annotations"][names.OVERHEAD] == str(formula + (100 << 20))
    bench.say(resident=formula + (110 << 20)).wait(1).settle()
    assert len(bench.sizes) == 1


def test_the_overhead_is_written_again_after_each_resize() -> None:
    bench = policy().wish(8).settle().grant().settle().obey()
    plan = bench.turn()
    notes = [a for a in plan.actions if isinstance(a, PatchObject) and a.name == "virt-launcher-db"]
    assert notes == [
        PatchObject(
            ref=("", "v1", "pods"),
            namespace="default",
            name="virt-launcher-db",
            patch={"metadata": {"annotations": {names.OVERHEAD: str(360 << 20)}, "uid": "pod-1"}},
            on_behalf_of="default/db",
        )
    ]


def test_a_violation_is_counted() -> None:
    bench = policy()
    bench.say(memory=gib(9))
    assert bench.violations == 1
    bench.say(memory=gib(8))
    assert bench.violations == 1


def test_small_steps_and_big_ones() -> None:
    bench = Bench(settings=Settings(step_share=0.5, step_min=gib(3))).live().wish(guest="16Gi").settle().grant()
    bench.settle()
    assert bench.orders[-1] == (4, 12)


def test_a_machine_that_cannot_be_moved_waits_instead() -> None:
    spec = machine_spec(policy={"fallback": "Migrate"})
    spec["template"]["spec"]["volumes"] = [{"name": "root", "emptyDisk": {"capacity": "1Gi"}}]
    bench = Bench(spec).live().wish(guest="16Gi").settle().pend("Deferred").settle().wait(4000).settle()
    assert (bench.phase, bench.others) == ("PodDeferred", [])
    bench.pend("Infeasible", NO_ROOM).settle()
    assert bench.others == []
    assert bench.resize["message"].startswith(
        f"{NO_ROOM}; the machine cannot be moved: disk root is only in its pod"
    )


def test_a_node_that_says_no_for_another_reason_is_not_asked_again_and_again() -> None:
    bench = policy()
    bench.see(*node(16, "64Gi"))
    bench.wish(guest="16Gi").settle().pend("Infeasible", NO_ROOM).settle().grant().settle().wait(600).settle()
    assert (bench.sizes, bench.phase) == (["400m/16728Mi", "400m/8520Mi"], "Failed")
