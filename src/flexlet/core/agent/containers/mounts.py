"""Where a container sees what: its volumes as the spec lists them, the hosts file, the file for its last words."""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import VolumeMount
from flexlet.core.agent.containers import expansion, hosts, volumes
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.configs import BIDIRECTIONAL, HOST_TO_CONTAINER, PRIVATE, ImageSource, Mount

_PROPAGATION: Final = {
    "": PRIVATE,
    "None": PRIVATE,
    "Bidirectional": BIDIRECTIONAL,
    "HostToContainer": HOST_TO_CONTAINER,
}
_RECURSIVE: Final = "failed to resolve recursive read-only mode: "


class SubPath(msgspec.Struct, frozen=True):
    """A path inside a volume that must be found on disk before it can be mounted."""

    index: int
    """Of the volumeMount."""
    volume: str
    volume_path: str
    sub_path: str


def subpaths(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, envs: tuple[tuple[str, str], ...]
) -> tuple[SubPath, ...] | Problem:
    """Those of the container, with variables in them replaced."""
    known = dict(envs)
    found = []
    for index, mount in enumerate(container.volume_mounts):
        if volumes.named(pod, mount.name) is None:
            return _unknown(container, mount)
        path = _sub_path(mount, known)
        if isinstance(path, Problem):
            return path
        if path and not _is_image(pod, mount):
            found.append(SubPath(index, mount.name, volumes.path_of(pod, mount.name, setup), path))
    return tuple(found)


def images(
    pod: NodePod, container: NodeContainer, envs: tuple[tuple[str, str], ...], refs: Mapping[str, str]
) -> dict[int, ImageSource] | Problem:
    """Mounts of images by the index of their volumeMount; `refs` says by volume what the pull has brought."""
    known = dict(envs)
    found: dict[int, ImageSource] = {}
    for index, mount in enumerate(container.volume_mounts):
        volume = volumes.named(pod, mount.name)
        if volume is None or volume.image is None:
            continue
        path = _sub_path(mount, known)
        if isinstance(path, Problem):
            return path
        ref, name = refs.get(mount.name, volume.image.reference), volume.image.reference
        found[index] = ImageSource(ref=ref, name=name, annotations=pod.metadata.annotations, sub_path=path)
    return found


def _is_image(pod: NodePod, mount: VolumeMount) -> bool:
    volume = volumes.named(pod, mount.name)
    return volume is not None and volume.image is not None


def _sub_path(mount: VolumeMount, known: Mapping[str, str]) -> str | Problem:
    path = mount.sub_path
    if mount.sub_path_expr:
        if missing := expansion.missing(mount.sub_path_expr, known):
            return Problem(f"missing value for {', '.join(missing)}")
        path = expansion.expanded(mount.sub_path_expr, known)
    if path.startswith("/"):
        return Problem(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        return Problem(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def _unknown(container: NodeContainer, mount: VolumeMount) -> Problem:
    return Problem(f'cannot find volume "{mount.name}" to mount into container "{container.name}"')


def unprepared(container: str, volume: str) -> Problem:
    """A sub-path that cannot be had; how the host looks is nobody's business."""
    return Problem(f'failed to prepare subPath for volumeMount "{volume}" of container "{container}"')


def mounts(
    pod: NodePod,
    container: NodeContainer,
    setup: NodeSetup,
    found: Mapping[int, str | ImageSource],
    hosts_path: str,
    last_words_path: str,
) -> tuple[Mount, ...] | Problem:
    """All mounts; `found` has the host paths of sub-paths, and images, by the index of their volumeMount."""
    listed = []
    for index, mount in enumerate(container.volume_mounts):
        made = _mount(pod, container, mount, setup, found.get(index, ""))
        if isinstance(made, Problem):
            return made
        listed.append(made)
    taken = {mount.mount_path for mount in container.volume_mounts}
    if hosts_path and hosts.PATH not in taken:
        listed.append(Mount(container_path=hosts.PATH, host_path=hosts_path))
    if container.termination_message_path and last_words_path:
        path = absolute(container.termination_message_path)
        listed.append(Mount(container_path=path, host_path=last_words_path))
    return tuple(listed)


def _mount(
    pod: NodePod, container: NodeContainer, mount: VolumeMount, setup: NodeSetup, found: str | ImageSource
) -> Mount | Problem:
    volume = volumes.named(pod, mount.name)
    if volume is None:
        return _unknown(container, mount)
    propagation = _PROPAGATION.get(mount.mount_propagation or "")
    if propagation is None:
        return Problem(f'invalid MountPropagation mode: "{mount.mount_propagation}"')
    recursive = _recursive(mount, setup)
    if isinstance(recursive, Problem):
        return recursive
    image = found if isinstance(found, ImageSource) else None
    return Mount(
        container_path=absolute(mount.mount_path),
        host_path="" if image is not None else str(found or volumes.path_of(pod, mount.name, setup)),
        image=image,
        readonly=mount.read_only or volumes.is_read_only(volume),
        recursive_read_only=recursive,
        propagation=propagation,
    )


def absolute(path: str) -> str:
    """A path inside a container begins at its root."""
    return path if path.startswith("/") else f"/{path}"


def _recursive(mount: VolumeMount, setup: NodeSetup) -> bool | Problem:
    """Whether mounts below are read-only too: wanted if possible, or without fail."""
    mode = mount.recursive_read_only or "Disabled"
    wish = f'{_RECURSIVE}volume "{mount.name}" requested recursive read-only mode, but it is not '
    able = any(each.recursive_read_only_mounts for each in setup.handlers if not each.name)
    if mode == "Disabled":
        return False
    if not mount.read_only:
        return Problem(f"{wish}read-only")
    if mount.mount_propagation not in {None, "", "None"}:
        return Problem(f'{wish}compatible with propagation "{mount.mount_propagation}"')
    if mode == "Enabled" and not able:
        return Problem(f"{wish}supported by the runtime")
    return able
