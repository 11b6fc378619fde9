"""What the kernel takes for each cgroup file, and what it makes of it.

Refusals are the kernel's own: OSError with the number it would answer with. Amounts of memory are cut down to
whole pages, as real ones are.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Final

from flexlet.api.cpuset import CpuSet
from flexlet.errors import InputError

CONTROLLERS: Final = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")
PAGE: Final = 4096
MAX: Final = "max"

_SUFFIXES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_AMOUNT: Final = re.compile(r"(\d+)([KMGT]?)", re.IGNORECASE)


def initial(controllers: Iterable[str], hugepage_sizes: Iterable[str]) -> dict[str, str]:
    """The files of a new cgroup that can be written."""
    files = {
        "cpuset.cpus": "",
        "cpuset.mems": "",
        "cpu.weight": "100",
        "cpu.max": "max 100000",
        "memory.max": MAX,
        "memory.high": MAX,
        "memory.min": "0",
        "memory.low": "0",
        "memory.swap.max": MAX,
        "memory.oom.group": "0",
        "pids.max": MAX,
    }
    for size in hugepage_sizes:
        files[f"hugetlb.{size}.max"] = files[f"hugetlb.{size}.rsvd.max"] = MAX
    present = set(controllers)
    return {name: text for name, text in files.items() if controller(name) in present}


def controller(name: str) -> str:
    """The controller that a file belongs to."""
    return name.partition(".")[0]


def accepted(name: str, text: str, current: str) -> str:
    """What the file holds after `text` was written to it; OSError if the kernel does not take it."""
    rule = _RULES.get(name, _amount if name.startswith("hugetlb.") else _any)
    return rule(text.strip(), current)


def refusal(number: int) -> OSError:
    """The kernel's answer by its number."""
    return OSError(number, os.strerror(number))


def amount(text: str) -> int | None:
    """A limit in bytes, None for no limit."""
    return None if text == MAX else int(text)


def _any(text: str, _: str) -> str:
    return text


def _amount(text: str, _: str) -> str:
    if text == MAX:
        return text
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise refusal(errno.EINVAL)
    size = int(match[1]) * _SUFFIXES[match[2].upper()]
    return str(size // PAGE * PAGE)


def _weight(text: str, _: str) -> str:
    weight = _whole(text)
    if not 1 <= weight <= 10000:
        raise refusal(errno.ERANGE)
    return str(weight)


def _cpu_max(text: str, current: str) -> str:
    parts = text.split()
    if len(parts) not in {1, 2}:
        raise refusal(errno.EINVAL)
    quota, period = parts[0], _whole(parts[1] if len(parts) == 2 else current.split()[1])
    too_little = quota != MAX and _whole(quota) < 1000
    if too_little or not 1000 <= period <= 1_000_000:
        raise refusal(errno.EINVAL)
    return f"{quota} {period}"


def _members(text: str, _: str) -> str:
    """CPUs or NUMA nodes; none at all means those of the cgroup above."""
    try:
        return str(CpuSet.parse(text))
    except InputError as error:
        raise refusal(errno.EINVAL) from error


def _flag(text: str, _: str) -> str:
    if text not in {"0", "1"}:
        raise refusal(errno.EINVAL)
    return text


def _count(text: str, _: str) -> str:
    return text if text == MAX else str(_whole(text))


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise refusal(errno.EINVAL)
    return int(text)


_RULES: Final[dict[str, Callable[[str, str], str]]] = {
    "cpuset.cpus": _members,
    "cpuset.mems": _members,
    "cpu.weight": _weight,
    "cpu.max": _cpu_max,
    "memory.max": _amount,
    "memory.high": _amount,
    "memory.min": _amount,
    "memory.low": _amount,
    "memory.swap.max": _amount,
    "memory.oom.group": _flag,
    "pids.max": _count,
}
