"""The parts of a machine that come and go one by one: CPUs and blocks of memory, named as sysfs names them."""

import re
from typing import Final, Literal

import msgspec

from flexlet.core.machine.machine import HalfPlugged, Machine
from flexlet.core.machine.sources import CPU, MEMORY
from flexlet.errors import ConfigError

Kind = Literal["cpu", "memory"]
OnlineAs = Literal["online", "online_movable", "online_kernel"]

_NAME: Final = re.compile(r"(cpu|memory)(\d+)")


class Part(msgspec.Struct, frozen=True, order=True):
    """A CPU or a block of memory; its text is ``cpu3`` or ``memory40``."""

    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{self.kind}{self.number}"

    @classmethod
    def parse(cls, name: str) -> "Part":
        """ConfigError if it is not the name of one."""
        found = cls.find(name)
        if found is None:
            raise ConfigError(f"cannot read {name!r} as a part of the machine: expected cpuN or memoryN")
        return found

    @classmethod
    def find(cls, name: str) -> "Part | None":
        """None if it is the name of something else."""
        match = _NAME.fullmatch(name)
        return None if match is None else cls("cpu" if match[1] == "cpu" else "memory", int(match[2]))

    @property
    def switch(self) -> str:
        """The file that takes it online and offline."""
        return f"{CPU}/{self}/online" if self.kind == "cpu" else f"{MEMORY}/{self}/state"


class PartRefused(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel did not do it, and the part is as it was."""

    part: Part
    reason: str
    """The kernel's word: ``EBUSY``, ``EINVAL``; ``ETIMEDOUT`` when we stopped waiting."""
    message: str


def offline(waiting: HalfPlugged) -> frozenset[Part]:
    """Those that are there and offline."""
    cpus = {Part("cpu", cpu) for cpu in waiting.offline_cpus}
    return frozenset(cpus | {Part("memory", block) for block in waiting.offline_blocks})


def online(machine: Machine) -> frozenset[Part]:
    """Those that are online, whether they count yet or not."""
    waiting = machine.half_plugged
    cpus = {Part("cpu", cpu) for cpu in machine.online | waiting.settling_cpus}
    gone = {*waiting.offline_blocks}
    return frozenset(cpus | {Part("memory", block) for block in machine.blocks if block not in gone})
