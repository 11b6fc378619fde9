"""A node that starts, with and without state files, on the machine they were written for and on another."""

import json

import pytest
from tests.core.managers.numa import Gi, Mi, container, free, machine, pod, settings, simple
from tests.core.managers.test_placing import begun, both

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers import files
from flexlet.core.managers.files import Files, texts
from flexlet.core.managers.placing import place
from flexlet.core.managers.resync import resync
from flexlet.core.managers.settings import BEST_EFFORT, MEMORY_STATIC, ManagerSettings
from flexlet.core.managers.starting import Started, start
from flexlet.core.managers.state import Managers, Refusal
from flexlet.errors import ConfigError

TWO = machine(8 * Gi, 8 * Gi, cpus=4)
CONFIG = both()
A, B = simple("a", 4 * Gi, cpus=2), simple("b", 4 * Gi, cpus=2)
DIFFERENT = "[memorymanager] the expected machine state is different from the real one"


def test_a_node_without_files_starts_empty() -> None:
    started = start(CONFIG, TWO, Files(), {}, ())
    assert (started.repairs, started.spoiled) == ((), ())
    assert free(started.managers) == {0: 7680 * Mi, 1: 7680 * Mi}
    assert (started.managers.cpu.shared, started.managers.cpu.reserved) == (CpuSet.of(range(8)), CpuSet((0,)))


@pytest.mark.parametrize(("cpu", "memory"), [(2, 1), (3, 2), (4, 3)])
def test_what_was_written_is_found_again_in_its_version(cpu: int, memory: int) -> None:
    """Hints are not kept in files, and nothing needs them after the containers were made."""
    managers = begun(CONFIG, TWO, A, B)
    found = Managers(
        cpu=managers.cpu, memory=managers.memory, numa=managers.numa, cpu_version=cpu, memory_version=memory
    )
    started = start(CONFIG, TWO, texts(found), {}, (A, B))
    assert started == Started(managers=found)
    assert texts(started.managers) == texts(found)


def test_nodes_without_managers_write_what_a_kubelet_writes() -> None:
    managers = Managers(cpu_version=2, memory_version=1)
    assert texts(managers).by_name() == {
        files.CPU_FILE: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
        files.MEMORY_FILE: '{"policyName":"None","machineState":{},"checksum":4236770233}',
    }


def test_a_node_without_managers_starts_again_from_what_it_wrote() -> None:
    first = start(ManagerSettings(), TWO, Files(), {}, ())
    assert start(ManagerSettings(), TWO, texts(first.managers), {}, (A,)) == first


def test_pods_that_left_while_nobody_looked_give_everything_back() -> None:
    started = start(CONFIG, TWO, texts(begun(CONFIG, TWO, A, B)), {}, (B,))
    assert started.managers.memory.entries.keys() == started.managers.cpu.entries.keys() == {"b"}
    assert free(started.managers) == {0: 3584 * Mi + 4 * Gi, 1: 3584 * Mi}


def test_a_machine_that_changed_meanwhile_is_followed_as_if_somebody_had_looked() -> None:
    """The kubelet does not start with either of these files."""
    before = begun(CONFIG, TWO, A, B)
    larger = machine(12 * Gi, 8 * Gi, cpus=5)
    started = start(CONFIG, larger, texts(before), {}, (A, B))
    assert DIFFERENT in started.repairs
    assert started.spoiled == ()
    assert started.managers.memory == resync(before, CONFIG, TWO, larger, (A, B)).managers.memory
    assert started.managers.cpu.entries == before.cpu.entries
    assert started.managers.cpu.shared == before.cpu.shared | CpuSet((8, 9))


def test_who_has_no_room_any_more_is_told_when_it_is_placed() -> None:
    small = machine(3 * Gi, 8 * Gi, cpus=4)
    started = start(CONFIG, small, texts(begun(CONFIG, TWO, A, B)), {}, (A, B))
    assert any(sentence.startswith("pod a has no room for its memory any more") for sentence in started.repairs)
    assert not started.managers.placed("a")
    assert isinstance(place(started.managers, CONFIG, small, A), Refusal)


def test_a_node_that_is_gone_is_no_reason_not_to_start() -> None:
    one = machine(9 * Gi, cpus=8)
    started = start(CONFIG, one, texts(begun(CONFIG, TWO, A, B)), {}, (A, B))
    assert started.managers.memory.nodes_of("b", "c") == CpuSet((0,))
    gone = "[memorymanager] (pod: b, container: c) the memory assignment uses the NUMA that does not exist"
    assert gone in started.repairs


def test_spoiled_files_are_named_and_their_books_made_anew() -> None:
    """CPUs from what the containers run on; memory beside the CPUs."""
    config = both(BEST_EFFORT)
    wide = simple("wide", Gi, cpus=4)
    good = begun(config, TWO, wide)
    assert good.memory.nodes_of("wide", "c") == CpuSet((1,))
    written = texts(good)
    assert written.cpu is not None
    assert written.memory is not None
    spoiled = Files(cpu=written.cpu.replace("4-7", "1-4"), memory=written.memory.replace("Static", "static"))
    started = start(config, TWO, spoiled, {"wide": {"c": CpuSet((4, 5, 6, 7))}}, (wide,))
    assert started.spoiled == (files.CPU_FILE, files.MEMORY_FILE)
    assert len(started.repairs) >= 2
    assert started.managers.cpu == good.cpu
    assert started.managers.memory == good.memory


def test_a_pod_that_only_one_book_knows_is_completed_or_let_go() -> None:
    managers = begun(CONFIG, TWO, A)
    without_memory = Files(cpu=texts(managers).cpu)
    assert start(CONFIG, TWO, without_memory, {}, (A,)).managers == managers
    greedy = pod("a", container("c", 20 * Gi, cpus=2))
    let_go = start(CONFIG, TWO, without_memory, {}, (greedy,))
    assert not let_go.managers.placed("a")
    assert [
        line for line in let_go.repairs if line.startswith("pod a cannot be completed: Allocate failed due to")
    ]


def test_another_policy_begins_anew() -> None:
    written = texts(start(ManagerSettings(), TWO, Files(), {}, ()).managers)
    started = start(CONFIG, TWO, written, {}, ())
    words = 'configured policy "Static" differs from state checkpoint policy "None"'
    assert any(sentence.startswith(words) for sentence in started.repairs)
    assert free(started.managers) == {0: 7680 * Mi, 1: 7680 * Mi}


def test_settings_that_cannot_work_are_errors_with_and_without_files() -> None:
    wrong = settings(512 * Mi, 512 * Mi, evicting="100Mi")
    for found in (Files(), texts(begun(settings(512 * Mi, 512 * Mi), TWO))):
        with pytest.raises(ConfigError, match="is not equal to the value"):
            start(wrong, TWO, found, {}, ())
    unreserved = ManagerSettings(cpu_policy="static")
    with pytest.raises(ConfigError, match="the static policy requires systemreserved"):
        start(unreserved, TWO, Files(), {}, ())


def test_too_many_nodes_are_said_and_the_first_ones_used() -> None:
    wide = machine(*[8 * Gi] * 9, cpus=1)
    started = start(both(BEST_EFFORT), wide, Files(), {}, ())
    assert started.managers.numa == tuple(range(8))
    limit = "unsupported on machines with more than 8 NUMA Nodes"
    rest = "this one has 9, and alignment works with 0, 1, 2, 3, 4, 5, 6, 7 only; raise max-allowable-numa-nodes"
    assert started.repairs == (f"{limit}: {rest}",)


def test_a_kubelet_s_file_is_taken_over() -> None:
    """Version 1 of a node with one pod, as a 1.36 kubelet writes it; flexlet writes the same version back."""
    book = {
        "policyName": "Static",
        "machineState": {
            "0": {
                "numberOfAssignments": 1,
                "memoryMap": {
                    "memory": {
                        "total": 8 * Gi,
                        "systemReserved": Gi,
                        "allocatable": 7 * Gi,
                        "reserved": Gi,
                        "free": 6 * Gi,
                    },
                },
                "cells": [0],
            }
        },
        "entries": {"pod-a": {"c1": [{"numaAffinity": [0], "type": "memory", "size": Gi}]}},
        "checksum": 0,
    }
    config = settings(Gi)
    claim = pod("pod-a", container("c1", Gi))
    started = start(config, machine(8 * Gi), Files(memory=json.dumps(book)), {}, (claim,))
    assert (started.repairs, started.managers.memory_version) == ((), 1)
    written = json.loads(texts(started.managers).memory or "")
    assert written | {"checksum": 0} == book
    assert config.memory_policy == MEMORY_STATIC
