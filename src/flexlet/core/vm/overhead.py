"""What a launcher needs beside the guest's memory: KubeVirt's formula term by term, and our own without libvirt.

The page tables follow the guest's memory, also where KubeVirt forgets them (it looks at the pod's request only,
which most machines do not name), and without its rounding to 1000 bytes: so the overhead of a bigger guest is the
old one, a 512th of the difference and 8 MiB for each vCPU.
"""

import math
from fractions import Fraction
from typing import Final

from flexlet.api.units import GIB, MIB
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wish import Wanted

Term = tuple[str, int]

PAGE_TABLE_SHARE: Final = 512
PER_VCPU: Final = 8 * MIB
LAUNCHER: Final = 64 * MIB
"""Of flexlet's own launcher: one process, neither libvirt nor virtlogd."""
QEMU: Final = 50 * MIB
KUBEVIRT: Final[tuple[Term, ...]] = (
    ("virt-launcher-monitor", 25 * MIB),
    ("virt-launcher", 100 * MIB),
    ("virtlogd", 25 * MIB),
    ("virtqemud", 40 * MIB),
    ("qemu", QEMU),
)
FLEXLET: Final[tuple[Term, ...]] = (("vm-launcher", LAUNCHER), ("qemu", QEMU))
TOLERANCE: Final = 0.1
"""A formula that is off by no more than this is left alone."""


def overhead(wanted: Wanted, vcpus: int, memory: int, settings: Settings) -> int:
    """The sum of all terms, in bytes."""
    return sum(size for _, size in terms(wanted, vcpus, memory, settings))


def terms(wanted: Wanted, vcpus: int, memory: int, settings: Settings) -> list[Term]:
    """Each term by name; those that do not apply are left out."""
    scaled = [
        ("page tables", -(-memory // PAGE_TABLE_SHARE) if wanted.has_page_tables else 0),
        *(KUBEVIRT if wanted.overhead_model == "kubevirt" else FLEXLET),
        ("vCPUs", PER_VCPU * max(1, vcpus)),
        *_devices(wanted),
    ]
    extra = _extra(sum(size for _, size in scaled), settings.overhead_ratio)
    found = [*scaled, (f"ratio {settings.overhead_ratio:g}", extra), ("network bindings", wanted.binding_memory)]
    return [term for term in found if term[1]]


def _devices(wanted: Wanted) -> list[Term]:
    is_kubevirt = wanted.overhead_model == "kubevirt"
    found = [
        ("I/O thread", 8 * MIB, is_kubevirt),
        ("graphics", 32 * MIB, wanted.has_graphics),
        ("arm64 pflash", 128 * MIB, wanted.architecture == "arm64"),
        ("VFIO", GIB, wanted.has_vfio),
        ("downward metrics", MIB, wanted.has_downward_metrics),
        ("exec probes", (100 + 10 * wanted.exec_probes) * MIB, wanted.exec_probes > 0),
        ("launch security", 256 * MIB, wanted.is_encrypted),
        ("TPM", 53 * MIB, wanted.has_tpm),
        ("guaranteed", 100 * MIB, wanted.is_guaranteed),
        ("addedOverhead", wanted.added_overhead, True),
    ]
    return [(name, size) for name, size, applies in found if applies]


def _extra(total: int, ratio: float) -> int:
    """What the ratio adds; as a fraction of what was written, since 1.1 is no float."""
    return math.ceil(total * (Fraction(str(ratio)) - 1)) if ratio != 1 else 0
