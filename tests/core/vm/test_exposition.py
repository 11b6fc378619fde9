"""Metrics of virtual machines."""

from tests.core.vm.vmworld import Bench, gib, machine_spec

from flexlet.core.observations import Vanished
from flexlet.core.vm import exposition, names
from flexlet.core.vm.guest import Answer


def lines(bench: Bench, name: str) -> list[str]:
    found = exposition.render(bench.decider.tally).splitlines()
    return [line.removeprefix(name) for line in found if line.startswith((f"{name}{{", f"{name} "))]


def test_a_resize_is_counted_with_its_phases() -> None:
    bench = Bench().live().wish(8).settle().wait(2).grant().settle().wait(1).obey().settle()
    assert lines(bench, "flexlet_vm_resize_total") == ['{result="completed"} 1']
    assert lines(bench, "flexlet_vm_resize_seconds_sum") == [
        '{direction="grow",resource="cpu",phase="GuestChanging"} 1',
        '{direction="grow",resource="cpu",phase="PodGrowing"} 2',
        '{direction="grow",resource="cpu",phase="Total"} 3',
    ]
    assert lines(bench, "flexlet_vm_invariant_violations_total") == [" 0"]
    assert lines(bench, "flexlet_vm_resize_oom_total") == [" 0"]


def test_sizes_are_those_of_the_last_look() -> None:
    bench = Bench().live().wish(guest="4Gi").settle()
    bench.obey(memory=gib(5.5), ram=Answer("Partial"), resident=5, vcpus_online=3).settle()
    vm = 'namespace="default",name="db"'
    assert lines(bench, "flexlet_vm_guest_bytes") == [
        f'{{{vm},kind="target"}} {gib(4)}',
        f'{{{vm},kind="requested"}} {gib(4)}',
        f'{{{vm},kind="plugged"}} {gib(5.5)}',
    ]
    assert lines(bench, "flexlet_vm_vcpus") == [
        f'{{{vm},kind="target"}} 4',
        f'{{{vm},kind="plugged"}} 4',
        f'{{{vm},kind="online"}} 3',
    ]
    assert lines(bench, "flexlet_vm_unplug_shortfall_bytes") == [f"{{{vm}}} {gib(1.5)}"]
    assert lines(bench, "flexlet_vm_overhead_bytes") == [
        f'{{{vm},kind="formula"}} {323 << 20}',
        f'{{{vm},kind="measured"}} 5',
    ]
    assert lines(bench, "flexlet_vm_launcher_memory_overhead_bytes") == [f"{{{vm}}} {323 << 20}"]


def test_ends_of_all_kinds_are_counted() -> None:
    bench = Bench(machine_spec(policy={"fallback": "Fail"})).live()
    bench.wish(guest="16Gi").settle().pend("Infeasible").settle().grant().settle()
    bench.wish(guest="4Gi").settle().obey(memory=gib(5), ram=Answer("Partial")).settle().grant().settle()
    assert lines(bench, "flexlet_vm_resize_total") == ['{result="failed"} 1', '{result="partial"} 1']
    assert lines(bench, "flexlet_vm_fallback_total") == ['{type="fail"} 1']


def test_a_machine_that_is_gone_is_not_told_of() -> None:
    bench = Bench().live()
    bench.vm["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    bench.see_vm()
    bench.settle().gone().settle()
    bench.decider.fold(_gone())
    assert lines(bench, "flexlet_vm_guest_bytes") == []


def _gone() -> Vanished:

    return Vanished(names.FLEX_VMS, "default", "db", "vm-1")


def test_every_family_has_a_text() -> None:
    text = exposition.render(Bench().decider.tally)
    assert [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")] == [
        line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")
    ]
    assert set(exposition.HELP) == {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
