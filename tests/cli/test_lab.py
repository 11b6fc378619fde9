"""``flexlet lab`` without QEMU: what it prints, what it refuses, and its exit codes."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.qemu.fakes import IMAGES, fake_qemu, new_machine

from flexlet.adapters.qemu import machine as machines
from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import MachineDirectory, making
from flexlet.cli.main import run
from flexlet.core.lab.spec import Inventory, MachineSpec, Record

REFUSED = 3


@pytest.fixture
def lab(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> "Lab":
    return Lab(tmp_path, capfd)


class Lab:
    """The command in this process."""

    def __init__(self, data: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capture = capture

    def __call__(self, verb: str, *words: str) -> tuple[int, str, str]:
        code = run(["lab", verb, "--data", str(self.data), *words])
        printed = self._capture.readouterr()
        return code, printed.out, printed.err


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[MachineDirectory]:
    """A pretended machine that runs."""
    made = new_machine(tmp_path)
    asyncio.run(machines.start(fake_qemu(tmp_path), made, IMAGES, "tcg", owned=False))
    yield made
    process = processes.find(made.file("pid"))
    if process:
        with process:
            process.kill()


def test_no_machines_are_an_empty_list(lab: Lab) -> None:
    assert lab("list") == (0, "NAME  STATE  CPUS  MEMORY  RUNS ON\n", "")
    assert lab("list", "-o", "json") == (0, "[]\n", "")


def test_machines_are_listed_with_what_is_plugged(lab: Lab) -> None:
    with making(lab.data / "machines", "big") as fresh:
        fresh.save(Record(MachineSpec("big"), Inventory((0, 1, 4), {0: 1 << 30}, 512 << 20), {2222: 22}))
    assert lab("list") == (
        0,
        "NAME  STATE    CPUS  MEMORY       RUNS ON\nbig   Stopped  3/8   3584Mi/16Gi\n",
        "",
    )
    listed = json.loads(lab("list", "-o", "json")[1])
    assert listed == [
        {
            "name": "big",
            "state": "Stopped",
            "cpus": 3,
            "max_cpus": 8,
            "memory": 3584 << 20,
            "max_memory": 16 << 30,
            "accelerator": "",
            "pid": 0,
            "forwards": {"2222": 22},
        }
    ]


def test_a_running_machine_is_plugged_through_its_monitor(lab: Lab, machine: MachineDirectory) -> None:
    assert lab("plug", "n1", "--cpus", "2", "--memory", "1Gi", "--no-online") == (
        0,
        "n1  cpu     2 -> 4\nn1  memory  2Gi -> 3Gi\n",
        "",
    )
    assert machine.load().inventory == Inventory((0, 1, 2, 3), {0: 1 << 30})
    code, printed, _ = lab("plug", "n1", "--cpus", "1", "--no-online", "-o", "json")
    assert code == 0
    assert json.loads(printed) == {
        "name": "n1",
        "before": {"cpus": 4, "memory": 3 << 30, "guest": None},
        "after": {"cpus": 5, "memory": 3 << 30, "guest": None},
        "refusal": None,
    }
    assert lab("list")[1].splitlines()[1] == "n1    Running  5/8   3Gi/16Gi  tcg"


def test_a_refusal_has_its_own_exit_code_and_its_reason(lab: Lab, machine: MachineDirectory) -> None:
    del machine
    text = "cannot plug 9 CPUs: 6 of 8 slots are free; create the machine with more --max-cpus"
    assert lab("plug", "n1", "--cpus", "9", "--no-online") == (REFUSED, "", f"refused (NoFreeSlot): {text}\n")
    code, printed, _ = lab("plug", "n1", "--cpus", "9", "--no-online", "-o", "json")
    refusal = {"type": "Refused", "reason": "NoFreeSlot", "message": text}
    assert (code, json.loads(printed)) == (REFUSED, {"name": "n1", "refusal": refusal})


def test_a_machine_is_stopped_and_deleted(lab: Lab, machine: MachineDirectory) -> None:
    assert lab("stop", "n1") == (0, "", "machine n1 is off\n")
    assert lab("list")[1].splitlines()[1] == "n1    Stopped  2/8   2Gi/16Gi"
    assert lab("delete", "n1") == (0, "", "machine n1 is deleted\n")
    assert not machine.path.exists()


def test_a_running_machine_is_deleted_at_once(lab: Lab, machine: MachineDirectory) -> None:
    assert lab("delete", "n1") == (0, "", "machine n1 is deleted\n")
    assert processes.find(machine.file("pid")) is None
    assert list((lab.data / "machines").iterdir()) == []


@pytest.mark.parametrize("verb", ["start", "stop", "delete", "exec", "logs", "console"])
def test_a_machine_that_is_not_there_is_named(lab: Lab, verb: str) -> None:
    code, _, complaint = lab(verb, "nobody")
    assert code == 1
    assert complaint == "error: there is no machine nobody: `flexlet lab list` shows those there are\n"


@pytest.mark.parametrize("words", [("exec", "n1", "--", "true"), ("plug", "n1", "--cpus", "1"), ("logs", "n1")])
def test_a_machine_that_does_not_run_cannot_be_used(lab: Lab, words: tuple[str, ...]) -> None:
    new_machine(lab.data)
    assert lab(*words) == (1, "", "error: machine n1 does not run: `flexlet lab start n1` starts it\n")


def test_its_console_can_be_read_when_it_is_off(lab: Lab) -> None:
    new_machine(lab.data).file("console.log").write_text("flexlet-guest: ready\n")
    assert lab("console", "n1") == (0, "flexlet-guest: ready\n", "")
    assert lab("logs", "n1", "console") == (0, "flexlet-guest: ready\n", "")
    assert lab("logs", "n1", "qemu") == (0, "", "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("n1", "--cpus", "4", "--max-cpus", "2"), "error: machine n1: CPUs must be 1 <= --cpus <= --max-cpus"),
        (("n1", "--memory", "1000Mi"), "error: machine n1: --memory 1000Mi must be a multiple of 128Mi"),
        (("N1",), "error: cannot name a machine 'N1'"),
    ],
)
def test_a_machine_that_cannot_be_is_refused_at_once(lab: Lab, words: tuple[str, ...], complaint: str) -> None:
    code, _, printed = lab("create", *words)
    assert code == 1
    assert printed.startswith(complaint)
    assert list(lab.data.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("plug", "n1"),
        ("create", "n1", "--memory", "lots"),
        ("create", "n1", "--forward", "80"),
        ("logs", "n1", "x"),
    ],
)
def test_wrong_usage_is_exit_code_2(lab: Lab, words: tuple[str, ...]) -> None:
    assert lab(*words)[0] == 2
