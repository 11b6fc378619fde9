"""The metrics of virtual machines as Prometheus text."""

from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.core.nodesize.tally import BUCKETS
from flexlet.core.vm.tally import Figures, Tally

HELP: Final = {
    "flexlet_vm_resize_seconds": "How long resizes of machines took, by phase and as a whole (Total).",
    "flexlet_vm_resize_total": "Resizes of machines that came to an end.",
    "flexlet_vm_guest_bytes": "Memory of a guest as wanted, asked of it and plugged.",
    "flexlet_vm_vcpus": "vCPUs of a guest as wanted, plugged and used.",
    "flexlet_vm_pod_bytes": "Memory of a launcher pod as desired, allocated and actual.",
    "flexlet_vm_overhead_bytes": "What a launcher pod needs beside the guest's memory.",
    "flexlet_vm_launcher_memory_overhead_bytes": "The overhead that a launcher pod is made for.",
    "flexlet_vm_unplug_shortfall_bytes": "Memory that a guest keeps beyond what is wanted.",
    "flexlet_vm_fallback_total": "Resizes that could not be done in place.",
    "flexlet_vm_invariant_violations_total": "Times a pod was found smaller than its guest needs; must be 0.",
    "flexlet_vm_resize_oom_total": "Machines that were killed for memory while they were resized; must be 0.",
}

Sample = tuple[str, str, float]
"""What follows the name, labels, value."""


def render(tally: Tally) -> str:
    """Everything that is counted."""
    return "".join(
        (
            *_family("flexlet_vm_resize_seconds", "histogram", _seconds(tally)),
            *_family("flexlet_vm_resize_total", "counter", _counts("result", tally.results)),
            *_family("flexlet_vm_guest_bytes", "gauge", _kinds(tally, "guest")),
            *_family("flexlet_vm_vcpus", "gauge", _kinds(tally, "vcpus")),
            *_family("flexlet_vm_pod_bytes", "gauge", _kinds(tally, "pod")),
            *_family("flexlet_vm_overhead_bytes", "gauge", _kinds(tally, "overhead")),
            *_family("flexlet_vm_launcher_memory_overhead_bytes", "gauge", _overheads(tally)),
            *_family("flexlet_vm_unplug_shortfall_bytes", "gauge", _shortfalls(tally)),
            *_family("flexlet_vm_fallback_total", "counter", _counts("type", tally.fallbacks)),
            *_family("flexlet_vm_invariant_violations_total", "counter", [("", "", tally.violations)]),
            *_family("flexlet_vm_resize_oom_total", "counter", [("", "", tally.ooms)]),
        )
    )


def _family(name: str, kind: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {HELP[name]}\n# TYPE {name} {kind}\n"
    for suffix, labels, value in samples:
        yield f"{name}{suffix}{{{labels}}} {value:.16g}\n" if labels else f"{name}{suffix} {value:.16g}\n"


def _seconds(tally: Tally) -> Iterator[Sample]:
    for (direction, resource, phase), histogram in sorted(tally.seconds.items()):
        label, below = f'direction="{direction.lower()}",resource="{resource}",phase="{phase}"', 0
        for bound, count in zip((*BUCKETS, float("inf")), histogram.counts, strict=True):
            below += count
            yield "_bucket", f'{label},le="{bound:g}"'.replace("inf", "+Inf"), below
        yield "_sum", label, histogram.total
        yield "_count", label, below


def _counts(label: str, counts: dict[str, int]) -> Iterator[Sample]:
    for value, count in sorted(counts.items()):
        yield "", f'{label}="{value.lower()}"', count


def _kinds(tally: Tally, what: str) -> Iterator[Sample]:
    for key, figures in sorted(tally.machines.items()):
        amounts: dict[str, int] = getattr(figures, what)
        for kind, amount in amounts.items():
            yield "", f'{_labels(key)},kind="{kind}"', amount


def _overheads(tally: Tally) -> Iterator[Sample]:
    for key, figures in sorted(tally.machines.items()):
        yield "", _labels(key), figures.overhead["formula"]


def _shortfalls(tally: Tally) -> Iterator[Sample]:
    for key, figures in sorted(tally.machines.items()):
        yield "", _labels(key), figures.shortfall


def _labels(key: str) -> str:
    namespace, _, name = key.partition("/")
    return f'namespace="{namespace}",name="{name}"'


__all__ = ["HELP", "Figures", "render"]
