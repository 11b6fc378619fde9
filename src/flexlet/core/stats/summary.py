"""``/stats/summary``: readings as the kubelet's JSON (stats/v1alpha1).

Keys appear only with a value that is known. Times are those of the readings, in whole seconds as everywhere in the
API. PSI totals are the kernel's microseconds, as the kubelet passes them on.
"""

from collections.abc import Sequence
from typing import Any, Final

from flexlet.api import age
from flexlet.core.stats.cgroupfiles import Pressure, PressureData
from flexlet.core.stats.procfiles import InterfaceUse
from flexlet.core.stats.readings import (
    CgroupReading,
    ContainerReading,
    FsReading,
    NodeReading,
    PodReading,
    SystemReading,
)

DEFAULT_INTERFACE: Final = "eth0"

Object = dict[str, Any]


def summary(node: NodeReading, *, only_cpu_and_memory: bool = False) -> Object:
    """The whole answer; or without network, file systems and pressure, as cheap callers ask for it."""
    pods = [_pod(pod, only_cpu_and_memory) for pod in node.pods]
    return {"node": _node(node, only_cpu_and_memory), "pods": pods}


def _node(node: NodeReading, brief: bool) -> Object:
    found = {
        "nodeName": node.name,
        "systemContainers": [_system(system, brief) for system in node.systems] or None,
        "startTime": age.format_seconds(node.started_at),
        **_usage(node.usage, brief),
    }
    if not brief:
        runtime = _known({"imageFs": _fs(node.image_fs), "containerFs": _fs(node.container_fs)})
        limits = {"maxpid": node.max_tasks, "curproc": node.tasks}
        found |= {
            "network": _network(node.network, node.time),
            "fs": _fs(node.fs),
            "runtime": runtime or None,
            "rlimit": {"time": age.format_seconds(node.time), **_known(limits)},
        }
    return _known(found)


def _system(system: SystemReading, brief: bool) -> Object:
    start = age.format_seconds(system.started_at)
    return _known({"name": system.name, "startTime": start, **_usage(system.usage, brief)})


def _pod(pod: PodReading, brief: bool) -> Object:
    found: Object = {
        "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "startTime": age.format_seconds(pod.started_at),
        "containers": [_container(container, brief) for container in pod.containers],
        **_usage(pod.usage, brief),
    }
    if not brief:
        volumes = [{**(_fs(volume.fs) or {}), "name": volume.name} for volume in pod.volumes]
        found |= {
            "network": _network(pod.network, pod.usage.time if pod.usage else None),
            "volume": volumes or None,
            "ephemeral-storage": _fs(pod.ephemeral_storage),
            "process_stats": None if pod.processes is None else {"process_count": pod.processes},
        }
    return _known(found)


def _container(container: ContainerReading, brief: bool) -> Object:
    found = {
        "name": container.name,
        "startTime": age.format_seconds(container.started_at),
        **_usage(container.usage, brief),
    }
    if not brief:
        found |= {"rootfs": _fs(container.rootfs), "logs": _fs(container.logs)}
    return _known(found)


def _usage(reading: CgroupReading | None, brief: bool) -> Object:
    if reading is None:
        return {}
    time = {"time": age.format_seconds(reading.time)}
    used, limit = reading.working_set, reading.memory_limit
    cpu = {
        "usageNanoCores": reading.usage_nano_cores,
        "usageCoreNanoSeconds": reading.cpu_ns,
        "psi": _psi(reading.cpu_pressure),
    }
    memory = {
        "availableBytes": None if used is None or limit is None else max(0, limit - used),
        "usageBytes": reading.memory_usage,
        "workingSetBytes": used,
        "rssBytes": reading.memory.get("anon"),
        "pageFaults": reading.memory.get("pgfault"),
        "majorPageFaults": reading.memory.get("pgmajfault"),
        "psi": _psi(reading.memory_pressure),
    }
    io = None if brief or reading.io_pressure is None else {**time, "psi": _psi(reading.io_pressure)}
    return {"cpu": time | _known(cpu), "memory": time | _known(memory), "swap": _swap(reading, time), "io": io}


def _swap(reading: CgroupReading, time: Object) -> Object | None:
    usage, limit = reading.swap_usage, reading.swap_limit
    if usage is None:
        return None
    available = None if limit is None else max(0, limit - usage)
    return time | _known({"swapAvailableBytes": available, "swapUsageBytes": usage})


def _psi(pressure: Pressure | None) -> Object | None:
    return None if pressure is None else {"full": _psi_data(pressure.full), "some": _psi_data(pressure.some)}


def _psi_data(data: PressureData) -> Object:
    return {"total": data.total, "avg10": data.avg10, "avg60": data.avg60, "avg300": data.avg300}


def _fs(reading: FsReading | None) -> Object | None:
    if reading is None:
        return None
    numbers = {
        "availableBytes": reading.available,
        "capacityBytes": reading.capacity,
        "usedBytes": reading.used,
        "inodesFree": reading.inodes_free,
        "inodes": reading.inodes,
        "inodesUsed": reading.inodes_used,
    }
    return {"time": age.format_seconds(reading.time), **_known(numbers)}


def _network(interfaces: Sequence[InterfaceUse] | None, time: float | None) -> Object | None:
    """The default interface's numbers stand at the top, too."""
    if interfaces is None or time is None:
        return None
    shown = [_interface(interface) for interface in interfaces]
    default = next((each for each in shown if each["name"] == DEFAULT_INTERFACE), {"name": ""})
    return _known({"time": age.format_seconds(time), **default, "interfaces": shown or None})


def _interface(use: InterfaceUse) -> Object:
    return {
        "name": use.name,
        "rxBytes": use.rx_bytes,
        "rxErrors": use.rx_errors,
        "txBytes": use.tx_bytes,
        "txErrors": use.tx_errors,
    }


def _known(found: Object) -> Object:
    return {key: value for key, value in found.items() if value is not None}
