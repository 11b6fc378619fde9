"""The managers decide as those of Kubernetes 1.36.3 do: what its own code answered, on machines of all shapes.

Each line of the recordings is a machine, a configuration and a row of pods that come and go. Left out are machines
on which flexlet differs on purpose: cores or sockets of unequal size, nodes smaller than what is reserved on them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexlet.api.cpuset import CpuSet
from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Container, Pod, PodSpec, ResourceList, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core import gates
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.machine import Cpu, Machine, NumaNode
from flexlet.core.managers import placing, starting
from flexlet.core.managers.claims import claim
from flexlet.core.managers.cpu.options import read_options
from flexlet.core.managers.files import Files
from flexlet.core.managers.settings import TOPOLOGY_NONE, ManagerSettings
from flexlet.core.managers.state import Managers, Refusal
from flexlet.errors import ConfigError

Line = dict[str, Any]
DATA = Path(__file__).parents[2] / "data" / "managers"
LINES = [json.loads(line) for line in (DATA / "decisions.jsonl").read_text().splitlines()]
ALL_OPTIONS = gates.parse("CPUManagerPolicyAlphaOptions=true,CPUManagerPolicyBetaOptions=true")


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_decisions_are_upstream_s(line: Line) -> None:
    if "error" in line:
        with pytest.raises(ConfigError) as raised:
            started(line)
        assert line["error"] in str(raised.value)
    else:
        assert list(lived(line)) == line["steps"]


def started(line: Line) -> tuple[Managers, ManagerSettings, Machine]:
    wanted, of = settings(line), machine(line)
    return starting.start(wanted, of, Files(), {}, []).managers, wanted, of


def lived(line: Line) -> Iterator[Line]:
    """The steps as they are recorded, with flexlet's answers."""
    books, wanted, of = started(line)
    for step in line["steps"]:
        asked = {name: step[name] for name in ("admit", "remove", "containers", "pod") if name in step}
        if "remove" in step:
            books = placing.release(books, wanted, of, step["remove"])
            yield asked | shown(books, wanted)
            continue
        after = placing.place(books, wanted, of, claim(pod(step)))
        if isinstance(after, Refusal):
            yield asked | {"refused": [after.reason, after.message]}
            continue
        books = after
        yield asked | shown(books, wanted) | own(books, wanted, step["admit"])


def shown(books: Managers, wanted: ManagerSettings) -> Line:
    default = {"default": str(books.cpu.shared)}
    if not wanted.pins_memory:
        return default
    nodes = {
        str(node): [
            state.assignments,
            list(state.cells),
            {kind: table.free for kind, table in sorted(state.tables.items())},
        ]
        for node, state in books.memory.nodes.items()
    }
    return default | {"nodes": nodes}


def own(books: Managers, wanted: ManagerSettings, uid: str) -> Line:
    found: Line = {"cpus": {name: str(cpus) for name, cpus in books.cpu.entries.get(uid, {}).items()}}
    if wanted.topology_policy != TOPOLOGY_NONE:
        found["affinity"] = {
            name: [None if hint.nodes is None else list(hint.nodes), hint.preferred]
            for name, hint in books.hints[uid].items()
        }
    if wanted.pins_memory:
        found["blocks"] = {
            name: {block.type: [list(block.nodes), block.size] for block in blocks}
            for name, blocks in books.memory.entries.get(uid, {}).items()
        }
    return found


def settings(line: Line) -> ManagerSettings:
    cpu, memory, topology = line["cpu"], line["memory"], line["topology"]
    needed = {kind: Quantity.of_bytes(size) for kind, size in memory["needed"].items()}
    return ManagerSettings(
        cpu_policy=cpu["policy"],
        cpu_options=read_options(cpu["policy"], cpu["options"], ALL_OPTIONS),
        reserved_cpus=CpuSet.parse(cpu["reserved"]) or None,
        reserved_milli=cpu["milli"],
        memory_policy=memory["policy"],
        reserved_memory={int(node): limits for node, limits in memory["reserved"].items()},
        reservation=Reservation(kube=needed, eviction_hard={}),
        topology_policy=topology["policy"],
        topology_scope=topology["scope"],
        prefer_closest="prefer-closest-numa-nodes" in topology["options"],
    )


def machine(line: Line) -> Machine:
    nodes = tuple(
        NumaNode(
            id=int(node),
            memory=Bytes(each["memory"]),
            hugepages={int(size) * 1024: count for size, count in each.get("pages", {}).items()},
            distances=dict(enumerate(each.get("distances", ()))),
        )
        for node, each in line["numa"].items()
    )
    found = sorted(cpus(line["cores"]), key=lambda cpu: cpu.id)
    return Machine(cpus=tuple(found), numa=nodes, memory=Bytes(sum(node.memory for node in nodes)))


def cpus(cores: str) -> Iterator[Cpu]:
    """``0/1/2:4,5`` are CPUs 4 and 5: one core on NUMA node 0, socket 1, behind cache 2 (or none of its own)."""
    for core in cores.split():
        place, _, threads = core.partition(":")
        numa, socket, cache = place.split("/")
        ids = [int(thread) for thread in threads.split(",")]
        for thread in ids:
            yield Cpu(thread, core=min(ids), socket=int(socket), numa=int(numa), cache=int(cache or socket))


def pod(step: Line) -> Pod:
    made = [(each["kind"], container(each)) for each in step["containers"]]
    spec = PodSpec(
        init_containers=tuple(each for kind, each in made if kind != "container"),
        containers=tuple(each for kind, each in made if kind == "container"),
        resources=resources(step["pod"], step["pod"]) if "pod" in step else None,
    )
    return Pod(metadata=ObjectMeta(name=step["admit"], uid=step["admit"]), spec=spec)


def container(each: Line) -> Container:
    asked = resources(each["requests"], each["limits"] if "limits" in each else each["requests"])
    restarts = "Always" if each["kind"] == "sidecar" else None
    return Container(name=each["name"], resources=asked, restart_policy=restarts)


def resources(requests: dict[str, str], limits: dict[str, str]) -> ResourceRequirements:
    return ResourceRequirements(requests=amounts(requests), limits=amounts(limits))


def amounts(written: dict[str, str]) -> ResourceList:
    return {name: Quantity.parse(amount) for name, amount in written.items()}
