"""The checksums in ``cpu_manager_state``: FNV-1a of how Go's dump prints the structures.

Maps print ``map[k:v k2:v2]`` with sorted keys, and the structure has the same name in every version.
"""

from collections.abc import Mapping

from flexlet.api.cpuset import CpuSet
from flexlet.core.fnv import fnv1a

Texts = Mapping[str, Mapping[str, str]]


def checksum(policy: str, shared: str, entries: Texts) -> int:
    """Of version 2, and of the fields of version 4 that older kubelets read."""
    return _structure(policy, shared, _nested(entries))


def checksum_by_id(policy: str, shared: str, entries: Mapping[str, str]) -> int:
    """Of version 1, which knows containers by their ids."""
    return _structure(policy, shared, "Entries:(map[string]string)" + _map(entries))


def checksum_with_pods(policy: str, shared: str, entries: Texts, pods: Mapping[str, CpuSet]) -> int:
    """Of version 3."""
    printed = _map({uid: f"{{CPUSet:(cpuset.CPUSet){{elems:{_elements(cpus)}}}}}" for uid, cpus in pods.items()})
    return _structure(policy, shared, f"{_nested(entries)} PodEntries:(state.PodCPUAssignments){printed}")


def data_checksum(data: str) -> int:
    """Of the string in version 4 that holds everything."""
    return fnv1a(f"(string){data}".encode())


def _structure(policy: str, shared: str, rest: str) -> int:
    fields = f"PolicyName:(string){policy} DefaultCPUSet:(string){shared} {rest} Checksum:(checksum.Checksum)0"
    return fnv1a(f"(*state.CPUManagerCheckpoint){{{fields}}}".encode())


def _nested(entries: Texts) -> str:
    printed = _map({uid: _map(containers) for uid, containers in entries.items()})
    return f"Entries:(map[string]map[string]string){printed}"


def _map(items: Mapping[str, str]) -> str:
    return "map[" + " ".join(f"{key}:{value}" for key, value in sorted(items.items())) + "]"


def _elements(cpus: CpuSet) -> str:
    return "(map[int]struct {})map[" + " ".join(f"{cpu}:{{}}" for cpu in cpus) + "]"
