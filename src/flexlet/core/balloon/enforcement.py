"""What all pods of a node are held to where the size behind its balloon does not exist (balloon.md §6).

A balloon keeps pods away by what they request; what they use is another matter. So the balloon may say that its
node shall enforce the rest: CPU by a quota, memory by a soft limit that is set at once and a hard one that is
lowered only while pods use well below it, because the kernel would kill to bring them there. Raising is done at
once, and the node raises when the balloon is asked to be smaller and lowers when it has become larger.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from flexlet.api import decode
from flexlet.api.meta import KubeStruct
from flexlet.api.pod import ResourceList
from flexlet.api.units import MIB
from flexlet.core.resources.amounts import as_integer
from flexlet.core.resources.names import CPU, MEMORY

FILE: Final = "flexlet_enforcement"
"""The checkpoint that keeps a node to it while the API is away."""
CPU_MAX: Final = "cpu.max"
HIGH: Final = "memory.high"
MAX: Final = "memory.max"

_PERIOD_US: Final = 100_000
_LEAST: Final = {CPU: 10, MEMORY: 64 * MIB}
"""The kernel takes no smaller quota, and pods cannot run in no memory at all."""
_PART: Final = 20
"""Pods must use a twentieth less than a hard limit before it is set."""


class Enforced(KubeStruct, frozen=True, kw_only=True):
    """The value of annotation flexlet.io/enforce on a balloon."""

    mode: Literal["None", "Cpu", "CpuAndMemory"] = "None"
    effective: ResourceList = msgspec.field(default_factory=dict)
    """What pods may use; the larger of now and soon, while the balloon is on its way to another size."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What pods shall have at most: thousandths of a CPU, bytes; None for no limit."""

    cpu: int | None = None
    memory: int | None = None


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on their way into the kernel; this is what a restart begins with."""

    wanted: Limits = Limits()
    hard: int | None = None
    """The hard limit of memory as it could be set; None while there is none."""

    @property
    def is_whole(self) -> bool:
        """Whether everything that is wanted could be set."""
        return self.hard == self.wanted.memory


NO_CAP: Final = Cap()


def read(text: str) -> Enforced:
    """A balloon's annotation; InputError if it cannot be understood."""
    return decode.from_json(text.encode(), Enforced)


def limits(said: Iterable[Enforced], effective: Mapping[str, int], margin: int = 0) -> Limits:
    """What balloons say together with what the node knows itself to be left beside them; the larger counts.

    `margin` is memory beyond that size in which the node evicts before the kernel acts.
    """
    told = [each for each in said if each.mode != "None"]
    if not told:
        return Limits()
    most = {name: max(_of(each, name, effective[name]) for each in told) for name in (CPU, MEMORY)}
    memory = any(each.mode == "CpuAndMemory" for each in told)
    return Limits(
        cpu=max(most[CPU], effective[CPU], _LEAST[CPU]),
        memory=max(most[MEMORY], effective[MEMORY], _LEAST[MEMORY]) + margin if memory else None,
    )


def towards(before: Cap, wanted: Limits, used: int) -> Cap:
    """The next cap; `used` is the memory of all pods together, and only matters where less of it is wanted."""
    if wanted.memory is None:
        return Cap(wanted=wanted)
    is_raise = before.hard is not None and wanted.memory >= before.hard
    if is_raise or used + used // _PART < wanted.memory:
        return Cap(wanted=wanted, hard=wanted.memory)
    return Cap(wanted=wanted, hard=before.hard)


def files(cap: Cap) -> dict[str, str]:
    """The files of the cgroup of all pods that are capped."""
    quota = None if cap.wanted.cpu is None else f"{cap.wanted.cpu * _PERIOD_US // 1000} {_PERIOD_US}"
    found = {CPU_MAX: quota, HIGH: cap.wanted.memory, MAX: cap.hard}
    return {name: str(value) for name, value in found.items() if value is not None}


def encode(cap: Cap) -> bytes:
    """For the checkpoint."""
    return msgspec.json.encode(cap)


def parse(raw: bytes) -> Cap:
    """From the checkpoint; InputError if it is spoiled."""
    return decode.from_json(raw, Cap)


def _of(said: Enforced, name: str, otherwise: int) -> int:
    return as_integer(name, said.effective[name]) if name in said.effective else otherwise
