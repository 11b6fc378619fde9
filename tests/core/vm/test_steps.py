"""The scenarios of vm-resize.md §12 step by step: what is asked of the pod and of the guest, in which order."""

import pytest
from tests.core.vm.vmworld import POD, Bench, Json, gib, machine_spec, node, node_size

from flexlet.core.vm.guest import Answer, AttachDevice
from flexlet.core.vm.settings import Settings


def test_a_pod_is_made_for_what_is_wanted() -> None:
    bench = Bench().live()
    assert bench.sizes == []
    assert bench.orders == [(4, 8)]
    assert bench.phase == "Idle"
    assert bench.condition("Ready") == ("True", "MachineRunning")


def test_1_cpus_and_memory_come_one_after_the_other() -> None:
    bench = Bench().live().wish(8, "16Gi").settle()
    assert (bench.sizes, bench.orders[1:], bench.phase) == (["800m/8552Mi"], [], "PodGrowing")
    bench.grant().settle()
    assert (bench.orders[1:], bench.phase) == ([(8, 8)], "GuestChanging")
    bench.obey().settle()
    assert bench.sizes == ["800m/8552Mi", "800m/16760Mi"]
    bench.grant().settle()
    for memory in (10, 12, 14, 16):
        assert bench.orders[-1] == (8, memory)
        bench.obey().wait(2).settle()
    assert bench.sizes == ["800m/8552Mi", "800m/16760Mi"]
    assert (bench.phase, bench.resize["direction"], bench.violations) == ("Done", "Grow", 0)
    assert bench.events == ["VMResizeStarted", "GuestPlugged", "GuestPlugged", "VMResizeCompleted"]


def test_parallel_memory_does_not_wait_for_the_guests_cpus() -> None:
    bench = Bench(machine_spec(policy={"order": "Parallel"})).live().wish(8, "16Gi").settle().grant().settle()
    assert (bench.sizes, bench.orders[-1]) == (["800m/8552Mi", "800m/16760Mi"], (8, 8))
    bench.grant().settle()
    assert bench.orders[-1] == (8, 10)


def test_what_is_allocated_and_not_in_force_is_waited_for() -> None:
    bench = Bench().live().wish(8).settle().allocate().settle()
    assert (bench.orders[1:], bench.phase) == ([], "PodGrowing")
    bench.grant().settle()
    assert bench.orders[1:] == [(8, 8)]


def test_a_request_of_memory_counts_when_it_is_allocated() -> None:
    bench = Bench().live().wish(guest="9Gi").settle().allocate().settle()
    assert bench.orders[1:] == [(4, 9)]


def test_a_memory_limit_counts_when_it_is_in_force() -> None:
    limits: Json = {"resources": {"requests": {"memory": "8Gi"}, "limits": {"memory": "8Gi"}}}
    bench = Bench(machine_spec(**limits)).live().wish(guest="9Gi").settle().allocate().settle()
    assert (bench.orders[1:], bench.phase) == ([], "PodGrowing")
    bench.grant().settle()
    assert bench.orders[1:] == [(4, 9)]


def test_2_and_3_memory_waits_for_room_and_goes_on_when_there_is_some() -> None:
    bench = Bench().live().wish(8, "16Gi").settle().grant().settle().obey().settle().pend("Deferred").settle()
    assert (bench.phase, bench.resize["message"]) == ("PodDeferred", "pod to 800m CPU and 16760Mi: no room")
    assert (bench.orders[-1], bench.resize["reached"]) == ((8, 8), {"vcpus": 8, "memory": "8Gi"})
    bench.wait(3600).settle()
    assert (bench.phase, bench.sizes[-1]) == ("PodDeferred", "800m/16760Mi")
    bench.grant().settle()
    assert (bench.phase, bench.orders[-1], "deferredAt" in bench.resize) == ("GuestChanging", (8, 10), False)


def test_cpus_do_not_wait_behind_memory_that_waits() -> None:
    bench = Bench().live().wish(guest="16Gi").settle().pend("Deferred").settle().wish(8).settle()
    assert bench.sizes == ["400m/16728Mi", "800m/8552Mi"]
    bench.grant().settle().obey().settle()
    assert (bench.orders[-1], bench.sizes[-1]) == ((8, 8), "800m/16760Mi")


def test_4_a_balloon_on_the_node_is_asked_once_for_what_is_missing() -> None:
    bench = Bench().live()
    bench.see(*node(16, "24Gi"))
    size = node_size({"cpu": "15", "memory": "14Gi"}, {"cpu": "1", "memory": "10Gi"})
    bench.see(*size)
    bench.wish(guest="16Gi").settle().pend("Deferred").settle()
    asked = {"spec": {"target": {"effective": {"memory": "16728Mi"}}}}
    assert bench.others == [asked]
    assert bench.resize["remedy"] == "node n1 was asked for memory 2392Mi more"
    bench.wait(10).pend("Deferred", "still no room").settle()
    assert bench.others == [asked]
    bench.grant().settle()
    assert bench.orders[-1] == (4, 10)


def test_5_a_guest_gives_memory_back_before_its_pod_does() -> None:
    bench = Bench().live().wish(guest="4Gi").settle()
    assert (bench.sizes, bench.orders[1:], bench.phase) == ([], [(4, 4)], "GuestChanging")
    bench.obey(memory=gib(6), ram=Answer("Changing")).settle()
    assert bench.sizes == []
    bench.wait(1).obey().settle()
    assert (bench.sizes, bench.phase) == (["400m/4416Mi"], "PodShrinking")
    bench.grant().settle()
    assert (bench.phase, bench.resize["direction"], bench.violations) == ("Done", "Shrink", 0)


def test_a_shrink_is_not_done_before_the_pod_is_smaller() -> None:
    """The guest has its size already, and its launcher still reports that it changes: the pod waits for that."""
    bench = (
        Bench(machine_spec(8))
        .settle()
        .run()
        .settle()
        .say(vcpus=8)
        .settle()
        .obey()
        .settle()
        .wish(4, "4Gi")
        .settle()
    )
    bench.obey().settle()
    bench.obey(ram=Answer("Changing")).settle()
    assert (bench.resize["reached"], bench.sizes) == ({"vcpus": 4, "memory": "4Gi"}, [])
    settling = "the guest is settling; the pod shrinks after it"
    assert (bench.phase, bench.resize.get("message")) == ("GuestChanging", settling)
    bench.obey().settle()
    assert (bench.phase, bench.sizes) == ("PodShrinking", ["400m/8520Mi"])
    bench.grant().settle().grant().settle()
    assert (bench.phase, bench.sizes[-1], bench.events.count("VMResizeCompleted")) == ("Done", "400m/4416Mi", 1)


def test_6_a_partial_shrink_is_followed_told_and_looked_at_again() -> None:
    bench = Bench().live().wish(guest="4Gi").settle().obey(memory=gib(5.5), ram=Answer("Changing")).settle()
    bench.obey(memory=gib(5.5), ram=Answer("Partial", "the guest keeps it")).settle().grant().wait(1).settle()
    assert (bench.sizes, bench.phase) == (["400m/5955Mi"], "Done")
    assert bench.condition("PartiallyResized") == ("True", "UnplugPartial")
    assert bench.resize["message"] == "the guest keeps 1536Mi more than wanted: the guest keeps it"
    bench.wait(60).settle()
    assert bench.orders[1:] == [(4, 4), (4, 4)]
    bench.obey().settle().grant().wait(1).settle()
    assert (bench.sizes[-1], bench.condition("PartiallyResized")) == ("400m/4416Mi", ("False", "AsWanted"))


def test_a_partial_shrink_is_looked_at_three_times() -> None:
    bench = Bench().live().wish(guest="4Gi").settle()
    for pause in (0, 60, 300, 900, 3600):
        bench.wait(pause).settle().obey(memory=gib(5.5), ram=Answer("Partial")).settle()
    assert bench.orders[1:] == [(4, 4)] * 4


def test_6_a_partial_shrink_is_reverted_if_that_is_wanted() -> None:
    bench = Bench(machine_spec(policy={"partialShrink": "Revert"})).live().wish(guest="4Gi").settle()
    bench.obey(memory=gib(5.5), ram=Answer("Partial", "kept")).settle()
    for memory in (6.5, 7.5, 8):
        assert bench.orders[-1] == (4, memory)
        bench.obey().wait(2).settle()
    assert (bench.sizes, bench.phase, bench.condition("HotMemoryChange")) == (
        [],
        "Failed",
        ("False", "UnplugReverted"),
    )


@pytest.mark.parametrize(
    ("has", "phase", "setbacks"), [(3, "Failed", ["UnplugReverted"]), (2, "Done", [])], ids=["kept", "as wanted"]
)
def test_vcpus_that_cannot_be_given_back_stay_as_they_are(has: int, phase: str, setbacks: list[str]) -> None:
    """The guest gave some of what it should, and that cannot be plugged again: the pod follows what it has."""
    bench = Bench(machine_spec(policy={"partialShrink": "Revert"})).live().wish(2).settle()
    bench.obey(vcpus=3, cpu=Answer("Partial", "vcpu-2 stays")).settle()
    assert bench.orders[-1] == (4, 8)
    bench.obey(vcpus=has, cpu=Answer("Failed", "no free slot", 3)).settle()
    assert bench.orders[-1] == (has, 8)
    bench.obey().settle().grant().settle()
    assert (bench.phase, [each["reason"] for each in bench.resize.get("setbacks", [])]) == (phase, setbacks)
    assert bench.sizes == [f"{has}00m/{8488 + 8 * has}Mi"]


def test_7_10_11_what_needs_a_restart_is_left_alone() -> None:
    wishes: list[tuple[Json, str]] = [
        ({"guest": "1Gi"}, "memory updated in template spec to a value lower than what the VM started with"),
        ({"vcpus": 20}, "CPU sockets updated in template spec to a value higher than what's available"),
        ({"guest": "64Gi"}, "memory updated in template spec to a value higher than what's available"),
    ]
    for wish, message in wishes:
        bench = Bench().live().wish(**wish).settle()
        required = [c for c in bench.status["conditions"] if c["type"] == "RestartRequired"]
        assert [(c["status"], message in c["message"]) for c in required] == [("True", True)]
        assert (bench.sizes, bench.orders, bench.phase) == ([], [(4, 8)], "Idle")


def test_8_the_pod_follows_the_cpus_that_are_left() -> None:
    bench = Bench(machine_spec(8)).settle().run().settle().say(vcpus=8).settle().obey().settle().wish(2).settle()
    bench.obey(vcpus=3, cpu=Answer("Partial", "the guest keeps vcpu-1-0-0")).settle().grant().wait(1).settle()
    assert (bench.sizes, bench.phase, bench.resize["reached"]["vcpus"]) == (["300m/8512Mi"], "Done", 3)
    assert bench.condition("PartiallyResized") == ("True", "UnplugPartial")


def test_9_more_cpus_and_less_memory() -> None:
    bench = Bench().live().wish(8, "4Gi").settle()
    assert (bench.sizes, bench.orders[1:]) == (["800m/8552Mi"], [])
    bench.grant().settle().obey().settle()
    assert (bench.sizes, bench.orders[1:]) == (["800m/8552Mi"], [(8, 8), (8, 4)])
    bench.obey().settle().grant().wait(1).settle()
    assert (bench.sizes[1:], bench.phase, bench.resize["direction"]) == (["800m/4448Mi"], "Done", "Mixed")


def test_less_of_both_goes_in_two_steps() -> None:
    bench = Bench(machine_spec(8)).settle().run().settle().say(vcpus=8).settle().obey().settle()
    bench.wish(4, "4Gi").settle().obey().settle().obey().settle()
    assert bench.sizes == ["400m/8520Mi"]
    bench.grant().settle().grant().wait(1).settle()
    assert (bench.sizes, bench.phase, bench.violations) == (["400m/8520Mi", "400m/4416Mi"], "Done", 0)


def test_13_huge_pages_do_not_grow_in_place_but_cpus_do() -> None:
    pages: Json = {
        "memory": {"hugepages": {"pageSize": "2Mi"}, "minGuest": "4Gi", "guest": "8Gi", "maxGuest": "16Gi"}
    }
    bench = Bench(machine_spec(**pages)).live()
    assert bench.condition("Resizable") == ("False", "HugepagesInPlace")
    bench.wish(8, "16Gi").settle().grant().settle().obey().settle()
    assert bench.orders[1:] == [(8, 8)]
    assert (bench.phase, bench.condition("HotMemoryChange")) == ("Failed", ("False", "HugepagesInPlace"))


def test_14_cpus_of_ones_own_are_for_the_node_to_refuse_and_memory_goes_on() -> None:
    bench = Bench(machine_spec(cpu={"sockets": 4, "maxSockets": 16, "dedicatedCpuPlacement": True})).live()
    bench.wish(6, "9Gi").settle()
    assert bench.sizes == ["6/8636Mi"]
    why = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
    bench.pend("Infeasible", why).settle()
    assert (bench.sizes[1:], bench.condition("HotVCPUChange")) == (["4/9646Mi"], ("False", "Infeasible"))
    bench.grant().settle()
    assert bench.orders[-1] == (4, 9)
    bench.obey().wait(1).settle()
    assert (bench.phase, bench.condition("PartiallyResized")) == ("Failed", ("True", "Infeasible"))


def test_16_a_guest_that_reboots_keeps_its_pod() -> None:
    bench = Bench().live().say(resets=1, memory=gib(4)).settle()
    assert (bench.sizes, bench.orders) == ([], [(4, 8)])
    bench.wait(60).settle()
    assert bench.sizes == []


def test_16_the_pod_of_a_partly_shrunk_guest_settles_after_a_reboot() -> None:
    bench = Bench().live().wish(guest="4Gi").settle().obey(memory=gib(5.5), ram=Answer("Partial")).settle()
    bench.grant().wait(1).settle().obey(memory=gib(4), resets=1).settle()
    assert bench.sizes == ["400m/5955Mi"]
    bench.wait(31).settle()
    assert bench.sizes == ["400m/5955Mi", "400m/4416Mi"]


def test_17_a_new_controller_goes_on_where_the_old_one_died() -> None:
    bench = Bench().live().wish(guest="9Gi").settle().grant()
    bench.restart()
    bench.settle().say().settle()
    assert (bench.sizes, bench.orders[-1]) == (["400m/9546Mi"], (4, 9))
    bench.obey().wait(1).settle()
    assert (bench.phase, bench.violations) == ("Done", 0)


def test_a_new_controller_shrinks_nothing_before_its_own_order_is_answered() -> None:
    bench = Bench().live().wish(guest="9Gi").settle().grant().settle()
    bench.wish(guest="8Gi")
    bench.restart()
    bench.settle().say().settle()
    assert (bench.sizes[1:], bench.orders[-1]) == ([], (4, 8))
    bench.obey().settle()
    assert bench.sizes[1:] == ["400m/8520Mi"]


def test_18_the_last_wish_wins() -> None:
    bench = Bench().live().wish(guest="16Gi").settle().grant().settle().wish(guest="8Gi").settle()
    assert bench.orders[-2:] == [(4, 10), (4, 8)]
    bench.say(memory=gib(10), requested=gib(10), order="").settle()
    assert bench.sizes == ["400m/16728Mi"]
    bench.obey().settle().grant().wait(1).settle()
    assert (bench.sizes, bench.phase) == (["400m/16728Mi", "400m/8520Mi"], "Done")


def test_18_a_wish_that_waits_is_taken_back() -> None:
    bench = Bench().live().wish(guest="16Gi").settle().pend("Deferred").settle().wish(guest="8Gi").settle()
    assert bench.sizes == ["400m/16728Mi", "400m/8520Mi"]
    bench.grant().wait(1).settle()
    assert (bench.phase, bench.orders) == ("Done", [(4, 8)])


def test_19_a_machine_that_dies_starts_with_what_was_wanted() -> None:
    bench = Bench().live().wish(guest="16Gi").settle().grant().settle().end().settle().gone().settle()
    new = bench.pods["virt-launcher-db"]
    assert new["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "400m", "memory": "16728Mi"}}
    bench.run().settle().say(memory=gib(16), requested=gib(16), order="").settle().obey().wait(1).settle()
    assert (bench.phase, bench.sizes, bench.orders[-1]) == ("Done", ["400m/16728Mi"], (4, 16))


def test_20_a_size_that_is_no_number_of_blocks_is_not_tried() -> None:
    bench = Bench().live().wish(8, "8193Mi").settle()
    assert (bench.sizes, bench.orders) == ([], [(4, 8)])
    assert bench.condition("ResizeInProgress") == ("False", "InvalidSpec")


def test_22_a_limit_that_the_node_cannot_lower_is_left_to_it() -> None:
    limits: Json = {"resources": {"requests": {"memory": "4Gi"}, "limits": {"memory": "4Gi"}}}
    bench = Bench(machine_spec(**limits)).live().wish(guest="4Gi").settle().obey().settle()
    bench.trouble("memory usage is above the new limit").wait(600).settle()
    assert (len(bench.sizes), bench.phase) == (1, "PodShrinking")
    assert "memory usage is above the new limit" in bench.resize["message"]
    bench.grant().settle()
    assert (bench.phase, len(bench.sizes)) == ("Done", 1)


def test_with_stage_nothing_changes_before_the_next_start() -> None:
    bench = Bench(settings=Settings(rollout_strategy="Stage")).live().wish(8, "16Gi").settle()
    assert (bench.sizes, bench.orders, bench.condition("RestartRequired")) == (
        [],
        [(4, 8)],
        ("True", "RestartRequired"),
    )


def test_12_a_device_comes_after_its_pod_has_room_for_it() -> None:
    bench = Bench().live()
    bench.wish(devices={"gpus": [{"name": "gpu0", "deviceName": "0000:65:00.0"}]}).settle()
    assert (bench.sizes, bench.attached, bench.violations) == (["400m/9544Mi"], [], 0)
    bench.grant().settle()
    assert bench.attached == [AttachDevice(id="gpu0", pci_address="0000:65:00.0")]
    bench.wait(5).obey().settle()
    assert (len(bench.attached), bench.orders) == (1, [(4, 8)])
    bench.wish(devices={"gpus": None}).settle()
    assert (bench.sizes, bench.condition("RestartRequired")) == (["400m/9544Mi"], ("True", "RestartRequired"))
    bench.annotate(power="Restart@1").settle().gone().settle()
    assert bench.pods["virt-launcher-db"]["spec"]["containers"][0]["resources"]["requests"]["memory"] == "8520Mi"


def test_the_speed_of_vcpus_changes_without_the_guest() -> None:
    limited: Json = {"resources": {"limits": {"cpu": "2"}}}
    bench = Bench(machine_spec(**limited)).live().wish(resources={"limits": {"cpu": "3"}}).settle()
    assert bench.pods[POD]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "3"}
    bench.grant().settle().wish(resources={"limits": {"cpu": "1500m"}}).settle()
    assert bench.pods[POD]["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m"}
    assert bench.orders == [(4, 8)]
