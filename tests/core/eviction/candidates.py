"""Pods that could be evicted, and what they use."""

from typing import Any

from tests.pods import resources

from flexlet.api.meta import ObjectMeta
from flexlet.api.nodepod import NodeContainer, NodePod, NodePodSpec
from flexlet.api.nodepod.volumes import Volume
from flexlet.api.quantity import Quantity
from flexlet.core.eviction.ranking import Candidate
from flexlet.core.kubeletconfig.thresholds import Amount, Threshold
from flexlet.core.stats.readings import CgroupReading, ContainerReading, FsReading, PodReading, VolumeReading

MIB = 1 << 20
NOW = 1_800_000_000.0


def usage(mib: int) -> CgroupReading:
    return CgroupReading(time=NOW, memory_usage=mib * MIB)


def fs(mib: int | None = None, inodes: int | None = None) -> FsReading:
    return FsReading(time=NOW, used=None if mib is None else mib * MIB, inodes_used=inodes)


def candidate(
    name: str,
    uses: int | None = None,
    requests: str = "",
    *,
    limits: str = "",
    level: tuple[str, str] | None = None,
    priority: int | None = None,
    overhead: str = "",
    grace: int | None = 30,
    volumes: tuple[Volume, ...] = (),
    **measured: Any,
) -> Candidate:
    """A pod of one container `c` that uses so many MiB of memory; None for one that cannot be measured."""
    spec = NodePodSpec(
        containers=(NodeContainer(name="c", resources=resources(requests, limits)),),
        resources=None if level is None else resources(*level),
        overhead={} if not overhead else resources(overhead).requests,
        priority=priority,
        termination_grace_period_seconds=grace,
        volumes=volumes,
    )
    pod = NodePod(metadata=ObjectMeta(namespace="default", name=name, uid=f"uid-{name}"), spec=spec)
    if uses is None:
        return Candidate(pod)
    container = ContainerReading(
        name="c", usage=usage(uses), rootfs=measured.pop("rootfs", None), logs=measured.pop("logs", None)
    )
    reading = PodReading(
        namespace="default",
        name=name,
        uid=f"uid-{name}",
        usage=usage(uses),
        containers=(container,),
        volumes=tuple(VolumeReading(name=key, fs=used) for key, used in measured.pop("volume_use", {}).items()),
        **measured,
    )
    return Candidate(pod, reading)


def below(signal: str, amount: str, grace: float = 0.0, reclaim: str = "") -> Threshold:
    """Evict when less than `amount` is left."""
    return Threshold(
        signal=signal,
        below=_amount(amount),
        grace_s=grace,
        minimum_reclaim=_amount(reclaim) if reclaim else None,
    )


def _amount(text: str) -> Amount:
    return Amount(fraction=float(text[:-1]) / 100) if text.endswith("%") else Amount(Quantity.parse(text))
