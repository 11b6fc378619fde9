"""What running containers have that depends on the size of their node (node-resize.md §3.4).

A container that asks for 2Gi is a quarter of a node of 8Gi and an eighth of one of 16Gi: how much swap it may use,
when it is slowed down and how likely the kernel kills it all follow from that, and were computed when it started.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from flexlet.api.pod import Container, Pod
from flexlet.core.cgroups.containers import container_resources
from flexlet.core.cgroups.settings import CgroupSettings, Host
from flexlet.core.hotplug.steps import TuneContainer
from flexlet.core.hotplug.tenants import Tenant

HIGH: Final = "memory.high"
SWAP_MAX: Final = "memory.swap.max"
_UNSET: Final = {SWAP_MAX: "", HIGH: "max"}
"""What a file is when the node has no value for it; empty: the kernel has no such file."""


class _Values(msgspec.Struct, frozen=True):
    files: dict[str, str]
    oom: int


def tunes(
    tenants: Iterable[Tenant], sizes: Sequence[Host], after: Host, settings: CgroupSettings, *, oom: bool = True
) -> tuple[TuneContainer, ...]:
    """The containers that need other values.

    `sizes` are those they may have been given values for, the one that was published last at the end; `oom` says
    whether the scores of running processes are touched at all.
    """
    return tuple(
        tune
        for tenant in tenants
        for container in _running(tenant)
        if (tune := _tune(tenant, container, sizes, after, settings, oom=oom)) is not None
    )


def sized(pod: Pod, name: str, host: Host, settings: CgroupSettings) -> dict[str, str]:
    """The files of a container that depend on the size of its node, as far as anybody sets them."""
    found = (each for each in (*pod.spec.init_containers, *pod.spec.containers) if each.name == name)
    unified = next((container_resources(pod, each, host, settings).unified for each in found), {})
    opened = {HIGH: _UNSET[HIGH]} if settings.memory_qos else {}
    return opened | {name: text for name, text in unified.items() if name in _UNSET}


def _running(tenant: Tenant) -> Iterator[Container]:
    spec = tenant.pod.spec
    return (each for each in (*spec.init_containers, *spec.containers) if each.name in tenant.running)


def _tune(
    tenant: Tenant,
    container: Container,
    sizes: Sequence[Host],
    after: Host,
    settings: CgroupSettings,
    *,
    oom: bool,
) -> TuneContainer | None:
    had = [_values(tenant, container, size, settings) for size in sizes]
    now = _values(tenant, container, after, settings)
    changed = sorted(name for name, text in now.files.items() if text and any(text != v.files[name] for v in had))
    scores = tuple(sorted({each.oom for each in had} - {now.oom})) if oom else ()
    if not changed and not scores:
        return None
    return TuneContainer(
        uid=tenant.uid,
        container=container.name,
        container_id=tenant.running[container.name],
        files={name: now.files[name] for name in changed},
        before={name: had[-1].files[name] for name in changed},
        oom_before=scores,
        oom_after=now.oom,
    )


def _values(tenant: Tenant, container: Container, host: Host, settings: CgroupSettings) -> _Values:
    found = container_resources(tenant.pod, container, host, settings)
    return _Values({name: found.unified.get(name, text) for name, text in _UNSET.items()}, found.oom_score_adj)
