"""A machine directory and a pretended QEMU, for tests of processes without QEMU."""

import sys
from pathlib import Path

from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.qemu.directory import MachineDirectory, making, place
from flexlet.adapters.qemu.machine import Images
from flexlet.core.lab.spec import MachineSpec, Record, factory

ROOT = Path(__file__).parents[3]
IMAGES = Images(Path("/i/vmlinuz"), Path("/i/initrd"), Path("/c/code.img"))


def fake_qemu(folder: Path) -> Qemu:
    """A program that is a QEMU to whoever starts it."""
    script = folder / "qemu-system-x86_64"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -S -m tests.adapters.qemu.fakeqemu "$@"\n'
    )
    script.chmod(0o755)
    return Qemu(script, folder / "qemu-img", "10.0.2")


def new_machine(data: Path, name: str = "n1") -> MachineDirectory:
    spec = MachineSpec(name)
    machine = place(data, name)
    with making(machine.path.parent, name) as fresh:
        fresh.save(Record(spec, factory(spec)))
    return machine
