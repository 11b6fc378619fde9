"""The check before memory limits go down: no limit may be set to or below what is in use.

The kernel would reclaim and then kill. The check is best effort, since usage may grow right after it. A limit that
is added where none was counts as a decrease. Unlike upstream, flexlet also checks the pod's limit when no
container changes and when the pod had no limit before, and a container's message names the container's own usage.
"""

from collections.abc import Mapping

import msgspec

from flexlet.api.pod import Pod


class MemoryUsage(msgspec.Struct, frozen=True):
    """Bytes in use, page cache included (``memory.current``); None or absent if it could not be read."""

    pod: int | None = None
    containers: dict[str, int] = {}


class Lowering(msgspec.Struct, frozen=True):
    """Memory limits about to go down, in bytes."""

    pod: int | None = None
    containers: dict[str, int] = {}

    def __bool__(self) -> bool:
        return self.pod is not None or bool(self.containers)


def refusal(pod: Pod, lowering: Lowering, usage: MemoryUsage | None) -> str:
    """Why the limits cannot go down now, empty if they can."""
    if not lowering:
        return ""
    if usage is None:
        meta = pod.metadata
        return f'unable to read memory usage for pod "{meta.name}_{meta.namespace}({meta.uid})"'
    found = [] if lowering.pod is None else _pod_fault(lowering.pod, usage.pod)
    found += _container_faults(lowering.containers, usage.containers)
    return f"cannot decrease memory limits: {together(found)}" if found else ""


def together(faults: list[str]) -> str:
    """Several faults as one text, the way Go joins errors."""
    distinct = list(dict.fromkeys(faults))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _pod_fault(limit: int, in_use: int | None) -> list[str]:
    if in_use is None:
        return ["missing pod memory usage"]
    if in_use < limit:
        return []
    return [f"attempting to set pod memory limit ({limit}) below current usage ({in_use})"]


def _container_faults(limits: Mapping[str, int], in_use: Mapping[str, int]) -> list[str]:
    faults = []
    for name, limit in limits.items():
        usage = in_use.get(name)
        if usage is None:
            faults.append(f'missing container "{name}" memory usage')
        elif usage >= limit:
            faults.append(
                f'attempting to set container "{name}" memory limit ({limit}) below current usage ({usage})'
            )
    return faults
