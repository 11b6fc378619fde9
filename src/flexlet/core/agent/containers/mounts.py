"""Where a container sees what: its volumes as the spec lists them, the hosts file, the file for its last words."""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import VolumeMount
from flexlet.core.agent.containers import expansion, hosts, volumes
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.configs import BIDIRECTIONAL, HOST_TO_CONTAINER, PRIVATE, Mount

_PROPAGATION: Final = {"Bidirectional": BIDIRECTIONAL, "HostToContainer": HOST_TO_CONTAINER}


class SubPath(msgspec.Struct, frozen=True):
    """A path inside a volume that must be found on disk before it can be mounted."""

    index: int
    """Of the volumeMount."""
    volume_path: str
    sub_path: str


def subpaths(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, envs: tuple[tuple[str, str], ...]
) -> tuple[SubPath, ...] | Problem:
    """Those of the container, with variables in them replaced."""
    known = dict(envs)
    found = []
    for index, mount in enumerate(container.volume_mounts):
        path = _sub_path(mount, known)
        if isinstance(path, Problem):
            return path
        if path:
            found.append(SubPath(index, volumes.path_of(pod, mount.name, setup), path))
    return tuple(found)


def _sub_path(mount: VolumeMount, known: Mapping[str, str]) -> str | Problem:
    if not mount.sub_path_expr:
        return mount.sub_path
    if missing := expansion.missing(mount.sub_path_expr, known):
        return Problem(f'missing value for "{missing[0]}"')
    return expansion.expanded(mount.sub_path_expr, known)


def mounts(
    pod: NodePod,
    container: NodeContainer,
    setup: NodeSetup,
    found: Mapping[int, str],
    hosts_path: str,
    last_words_path: str,
) -> tuple[Mount, ...]:
    """All mounts; `found` has the host paths of sub-paths by the index of their volumeMount."""
    listed = [_mount(pod, mount, setup, found.get(index)) for index, mount in enumerate(container.volume_mounts)]
    taken = {mount.mount_path for mount in container.volume_mounts}
    if hosts_path and hosts.PATH not in taken:
        listed.append(Mount(container_path=hosts.PATH, host_path=hosts_path))
    if container.termination_message_path and last_words_path:
        listed.append(Mount(container_path=container.termination_message_path, host_path=last_words_path))
    return tuple(listed)


def _mount(pod: NodePod, mount: VolumeMount, setup: NodeSetup, found: str | None) -> Mount:
    path = mount.mount_path if mount.mount_path.startswith("/") else f"/{mount.mount_path}"
    return Mount(
        container_path=path,
        host_path=found or volumes.path_of(pod, mount.name, setup),
        readonly=mount.read_only or volumes.is_read_only(pod, mount.name),
        recursive_read_only=mount.recursive_read_only in {"Enabled", "IfPossible"} and _can_recurse(setup),
        propagation=_PROPAGATION.get(mount.mount_propagation or "", PRIVATE),
    )


def _can_recurse(setup: NodeSetup) -> bool:
    return any(each.recursive_read_only_mounts for each in setup.handlers if not each.name)
