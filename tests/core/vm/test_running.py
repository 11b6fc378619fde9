"""Run strategies, the power switch, crashes and the end of a machine."""

from tests.core.vm.vmworld import POD, Bench, machine_spec

from flexlet.core.actions import DeleteObject, PatchObject
from flexlet.core.refs import PODS
from flexlet.core.vm import names

GONE = DeleteObject(ref=PODS, namespace="default", name=POD, uid="pod-1", on_behalf_of="default/db")


def strategy(name: str) -> Bench:
    return Bench(machine_spec(run={"runStrategy": name}))


def deletes(bench: Bench) -> list[DeleteObject]:
    return [action for action in bench.turn().actions if isinstance(action, DeleteObject)]


def test_a_machine_that_is_halted_shuts_down() -> None:
    bench = strategy("Always").live().change({"runStrategy": "Halted"})
    assert deletes(bench) == [GONE]
    bench.settle()
    assert bench.status["printableStatus"] == "Stopping"
    bench.gone().settle()
    assert (bench.status["printableStatus"], bench.condition("Ready")) == ("Stopped", ("False", "PodNotExists"))


def test_running_is_another_word_for_it() -> None:
    assert Bench(machine_spec(run={"running": False})).settle().pods == {}
    assert list(Bench(machine_spec(run={"running": True})).settle().pods) == [POD]


def test_a_machine_that_always_runs_comes_back_however_it_ended() -> None:
    bench = strategy("Always").live().end("Succeeded", 0)
    assert deletes(bench) == [GONE]
    bench.settle().gone().settle()
    assert bench.pods[POD]["metadata"]["uid"] == "pod-2"


def test_a_machine_that_shut_down_by_itself_stays_off_if_only_failures_count() -> None:
    bench = strategy("RerunOnFailure").live().end("Succeeded", 0).settle()
    assert (bench.status["ended"], bench.status["printableStatus"]) == ("Succeeded", "Stopped")
    bench.gone().settle()
    assert bench.pods == {}
    bench.annotate(power="Start@1").settle()
    assert bench.pods[POD]["metadata"]["uid"] == "pod-2"
    assert "ended" not in bench.run().settle().status


def test_a_machine_that_failed_runs_again_if_failures_count() -> None:
    bench = strategy("RerunOnFailure").live().end().settle().gone().settle()
    assert bench.pods[POD]["metadata"]["uid"] == "pod-2"


def test_a_machine_by_hand_starts_and_stops_only_when_told() -> None:
    bench = strategy("Manual").settle()
    assert bench.pods == {}
    bench.annotate(power="Start@1").live()
    assert (bench.status["power"], bench.condition("Ready")) == ("Start@1", ("True", "MachineRunning"))
    bench.end().settle().gone().settle()
    assert (bench.pods, bench.status["ended"]) == ({}, "Failed")
    bench.annotate(power="Start@2").live()
    bench.annotate(power="Stop@3")
    bench.settle().gone().settle()
    assert (bench.pods, bench.status["power"]) == ({}, "Stop@3")


def test_a_restart_is_done_once() -> None:
    bench = strategy("Always").live().annotate(power="Restart@1")
    assert deletes(bench) == [GONE]
    bench.settle()
    assert bench.status["power"] == "Restart@1"
    bench.gone().live()
    assert (bench.pods[POD]["metadata"]["uid"], deletes(bench)) == ("pod-2", [])


def test_a_machine_stopped_by_hand_stays_off_though_failures_count() -> None:
    bench = strategy("RerunOnFailure").live().annotate(power="Stop@1").settle().gone().settle()
    assert (bench.pods, bench.status["printableStatus"]) == ({}, "Stopped")


def test_launchers_that_crash_are_started_less_and_less_often() -> None:
    bench = strategy("Always").live()
    waits = []
    for _ in range(7):
        bench.end().settle()
        began = bench.now
        while "deletionTimestamp" not in bench.pods[POD]["metadata"]:
            assert bench.status["printableStatus"] == "CrashLoopBackOff"
            bench.wait(5).settle()
        waits.append(bench.now - began)
        bench.gone().settle().run().settle()
    assert waits == [0, 10, 20, 40, 80, 160, 300]


def test_a_machine_that_ran_for_a_while_has_not_failed_to_start() -> None:
    bench = strategy("Always").live().end().settle().gone().settle().run().settle()
    bench.end(ran_s=120).settle()
    assert bench.status["startFailure"] == {"consecutiveFailCount": 1, "lastFailedUID": "pod-2"}


def test_a_pod_that_nobody_placed_yet_is_made_anew_for_another_machine() -> None:
    bench = strategy("Always").settle().wish(2)
    assert deletes(bench) == [GONE]
    bench.settle().gone().settle()
    assert bench.pods[POD]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "200m"


def test_a_machine_that_is_wrong_is_not_started() -> None:
    bench = Bench(machine_spec(guest="8193Mi")).settle()
    assert (bench.pods, bench.condition("Ready")) == ({}, ("False", "InvalidSpec"))


def test_a_machine_is_held_until_its_pod_is_gone() -> None:
    bench = strategy("Always").live()
    bench.vm["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    bench.see_vm()
    assert deletes(bench) == [GONE]
    bench.settle().gone()
    assert bench.turn().actions == (
        PatchObject(
            ref=names.FLEX_VMS,
            namespace="default",
            name="db",
            patch={"metadata": {"finalizers": None, "resourceVersion": str(bench._revision - 1)}},
            on_behalf_of="default/db",
        ),
    )


def test_a_machine_gets_its_finalizer_first() -> None:
    bench = Bench()
    bench.vm["metadata"]["finalizers"] = []
    bench.see_vm()
    first = bench.turn().actions[0]
    assert isinstance(first, PatchObject)
    assert first.patch["metadata"]["finalizers"] == [names.FINALIZER]


def test_strangers_pods_with_our_label_are_not_talked_to() -> None:
    bench = Bench().live()
    pod = {
        "metadata": {"name": "x", "namespace": "default", "uid": "x", "labels": {names.LABEL: "db"}},
        "spec": {"nodeName": "n1", "containers": []},
        "status": {"phase": "Running"},
    }
    bench.see(PODS, pod)
    assert {launcher.pod for launcher in bench.decider.launchers()} == {POD}
