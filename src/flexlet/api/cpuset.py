"""Sets of CPU (or NUMA node) ids in the kernel's list format: ``0-3,8``."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from flexlet.errors import InputError

MAX_CPU_ID: Final = 65535  # far above the kernel's NR_CPUS; keeps "0-99999999999" from eating memory


class CpuSet(msgspec.Struct, frozen=True, order=True):
    """An immutable, sorted set of ids with set algebra and the kernel's text form."""

    ids: tuple[int, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[int]) -> "CpuSet":
        """A set of the given ids; order and repetition do not matter."""
        return cls(tuple(sorted(set(ids))))

    @classmethod
    def parse(cls, text: str) -> "CpuSet":
        """Read ``0-3,8`` (as in ``/sys/devices/system/cpu/online``) or raise InputError."""
        ids: set[int] = set()
        for part in text.strip().split(",") if text.strip() else ():
            ids.update(_range(part, text))
        return cls.of(ids)

    def __str__(self) -> str:
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self._runs())

    def _runs(self) -> Iterator[tuple[int, int]]:
        start = previous = None
        for cpu in self.ids:
            if previous is not None and start is not None and cpu != previous + 1:
                yield start, previous
                start = cpu
            start = cpu if start is None else start
            previous = cpu
        if start is not None and previous is not None:
            yield start, previous

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __contains__(self, cpu: object) -> bool:
        return cpu in self.ids

    def __or__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.of((*self.ids, *other.ids))

    def __and__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.of(set(self.ids) & set(other.ids))

    def __sub__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet.of(set(self.ids) - set(other.ids))

    def issubset(self, other: "CpuSet") -> bool:
        """Whether every id is also in `other`."""
        return set(self.ids) <= set(other.ids)


def _range(part: str, whole: str) -> range:
    first, dash, last = part.strip().partition("-")
    if not part.isascii() or not first.isdigit() or (dash and not last.isdigit()):
        raise InputError(f"cannot read {part!r} in CPU list {whole!r}: expected N or N-M")
    low, high = int(first), int(last or first)
    if high < low or high > MAX_CPU_ID:
        raise InputError(f"cannot read {part!r} in CPU list {whole!r}: the range is empty or beyond {MAX_CPU_ID}")
    return range(low, high + 1)
