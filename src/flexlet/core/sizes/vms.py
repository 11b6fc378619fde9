"""What is shown of a FlexVM: its size as wanted, and how far a resize has come."""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]


def rows(vms: Iterable[Json]) -> list[tuple[str, ...]]:
    """A row for each."""
    return [
        ("NAMESPACE", "NAME", "VCPUS", "MEMORY", "RESIZE"),
        *sorted((*_name(vm), *_size(vm), _resize(vm)) for vm in vms),
    ]


def _name(vm: Json) -> tuple[str, str]:
    return vm["metadata"]["namespace"], vm["metadata"]["name"]


def _size(vm: Json) -> tuple[str, str]:
    template = vm.get("spec", {}).get("template", {}).get("spec", {})
    domain = template.get("domain", {})
    cpu = domain.get("cpu", {})
    vcpus = cpu.get("vcpus") or cpu.get("sockets", 1) * cpu.get("cores", 1) * cpu.get("threads", 1)
    return str(vcpus), str(domain.get("memory", {}).get("guest", "-"))


def _resize(vm: Json) -> str:
    resize = vm.get("status", {}).get("resize", {})
    phase, message = resize.get("phase", ""), resize.get("message", "")
    return f"{phase}: {message}" if phase and message else phase or "-"
