"""Whole plans: everything that is written when a machine is made, resized and told of."""

from tests.core.vm.vmworld import KEY, NOW, POD, Bench, gib

from flexlet.core.actions import ApiPlan, CreateObject, PatchObject, RecordEvent
from flexlet.core.refs import PODS
from flexlet.core.vm import manifest, names
from flexlet.core.vm.decider import Launcher
from flexlet.core.vm.guest import SetSize
from flexlet.core.vm.overhead import overhead
from flexlet.core.vm.podsize import need
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wanted import machine, wanted

AT = "2027-01-15T08:00:00Z"
EXACT = "2027-01-15T08:00:00.000000Z"
ABOUT = {
    "kind": "FlexVM",
    "apiVersion": "vm.flexlet.io/v1alpha1",
    "namespace": "default",
    "name": "db",
    "uid": "vm-1",
}


def condition(kind: str, status: str, reason: str, message: str = "", generation: int = 1) -> dict[str, object]:
    text = {"message": message} if message else {}
    found = {"type": kind, "status": status, "reason": reason, **text, "lastTransitionTime": AT}
    return {**found, "observedGeneration": generation}


def status(patch: dict[str, object]) -> PatchObject:
    return PatchObject(
        ref=names.FLEX_VMS,
        namespace="default",
        name="db",
        patch={"status": patch},
        subresource="status",
        on_behalf_of=KEY,
    )


def test_a_new_machine_gets_a_pod() -> None:
    bench = Bench()
    vm = bench.decider.picture.vms[KEY]
    size, settings = wanted(vm, Settings()), Settings()
    body = manifest.launcher_pod(
        vm,
        size,
        machine(vm, settings),
        need(size, 4, gib(8), settings),
        settings,
        overhead=overhead(size, 4, gib(8), settings),
    )
    said = {
        "observedGeneration": 1,
        "printableStatus": "Starting",
        "conditions": [
            condition("Ready", "False", "PodNotExists", "the machine is being started"),
            condition("Resizable", "True", "InPlace"),
            condition("ResizeInProgress", "False", "Settled"),
            condition("PartiallyResized", "False", "AsWanted"),
        ],
    }
    made = CreateObject(ref=PODS, namespace="default", body=body, on_behalf_of=KEY)
    assert bench.decider.decide(NOW) == ApiPlan((made, status(said)))


def test_more_cpus_are_asked_of_the_pod_first() -> None:
    bench = Bench().live().wish(8)
    pod = bench.pods[POD]["metadata"]
    amounts = {"requests": {"cpu": "800m", "memory": "8552Mi"}}
    asked = PatchObject(
        ref=PODS,
        namespace="default",
        name=POD,
        patch={
            "metadata": {"resourceVersion": pod["resourceVersion"], "uid": "pod-1"},
            "spec": {"containers": [{"name": "compute", "resources": amounts}]},
        },
        kind="strategic",
        subresource="resize",
        reason="cpu",
        on_behalf_of=KEY,
    )
    said = {
        "observedGeneration": 2,
        "printableStatus": "Resizing",
        "pod": {"desired": {"cpu": "800m", "memory": "8552Mi"}},
        "resize": {
            "id": "g2",
            "direction": "Grow",
            "phase": "PodGrowing",
            "target": {"vcpus": 8},
            "startedAt": EXACT,
            "message": "pod to 800m CPU and 8552Mi",
        },
        "conditions": [
            condition("Ready", "True", "MachineRunning", generation=2),
            condition("Resizable", "True", "InPlace", generation=2),
            condition("ResizeInProgress", "True", "PodGrowing", "pod to 800m CPU and 8552Mi", 2),
            condition("HotVCPUChange", "True", "PodGrowing", "pod to 800m CPU and 8552Mi", 2),
            condition("PartiallyResized", "False", "AsWanted", generation=2),
        ],
    }
    told = RecordEvent(
        about=ABOUT,
        type="Normal",
        reason="VMResizeStarted",
        message="Grow from 4 vCPUs and 8Gi to 8 vCPUs and 8Gi",
        component="flexvm-controller",
    )
    assert bench.decider.decide(NOW) == ApiPlan((asked, status(said), told))
    assert bench.decider.take_orders() == []


def test_a_guest_is_told_over_its_line() -> None:
    bench = Bench().settle().run().settle().say()
    rung: list[int] = []
    bench.decider.on_order = lambda: rung.append(1)
    version = bench.vm["metadata"]["resourceVersion"]
    bench.decider.decide(NOW)
    order = SetSize(id=f"{NOW:.3f}-{version}-1", vcpus=4, memory=gib(8), unplug_timeout_s=120.0)
    assert bench.decider.take_orders() == [(Launcher("default", POD, "pod-1", "n1"), order)]
    assert (bench.decider.take_orders(), rung) == ([], [1])


def test_the_status_of_a_machine_that_was_resized() -> None:
    bench = Bench().live().wish(8).settle().grant().settle().obey().wait(2).settle()
    assert {key: bench.status[key] for key in bench.status if key not in {"conditions", "startedWith"}} == {
        "observedGeneration": 2,
        "printableStatus": "Running",
        "nodeName": "n1",
        "currentCPUTopology": {"sockets": 8, "cores": 1, "threads": 1},
        "memory": {
            "guestAtBoot": "8Gi",
            "guestCurrent": "8Gi",
            "guestRequested": "8Gi",
            "memoryOverhead": "360Mi",
        },
        "pod": {
            "name": POD,
            "uid": "pod-1",
            "desired": {"cpu": "800m", "memory": "8552Mi"},
            "allocated": {"cpu": "800m", "memory": "8552Mi"},
            "actual": {"cpu": "800m", "memory": "8552Mi"},
        },
        "resize": {
            "id": "g2",
            "direction": "Grow",
            "phase": "Done",
            "target": {"vcpus": 8, "memory": "8Gi"},
            "reached": {"vcpus": 8, "memory": "8Gi"},
            "origin": {"vcpus": 4, "memory": "8Gi"},
            "startedAt": EXACT,
            "finishedAt": "2027-01-15T08:00:02.000000Z",
        },
    }


def test_figures_of_a_guest_that_changes_are_written_once_a_second() -> None:
    bench = Bench().live().wish(guest="16Gi").settle().grant().settle()
    bench.wait(1).say(memory=gib(8.5), requested=gib(10), order=bench.told.id).settle()
    assert bench.status["memory"]["guestCurrent"] == "8704Mi"
    bench.wait(0.1).say(memory=gib(9)).settle()
    assert bench.status["memory"]["guestCurrent"] == "8704Mi"
    bench.wait(1).settle()
    assert bench.status["memory"]["guestCurrent"] == "9Gi"


def test_nothing_is_written_twice() -> None:
    bench = Bench().live()
    bench.see_vm()
    bench.see_pod()
    bench.say()
    assert bench.turn().actions == ()
