"""A pod's volumes: what they are made from, where they lie, and what kind of directory each of them is.

ConfigMaps are plain directories, everything that may be secret or about the pod lies in memory. Which files are in
a volume is in `layout`. Follows the kubelet's volume plugins; the wording of problems is what people see in
FailedMount events.
"""

from collections.abc import Iterator

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import EmptyDir, Volume
from flexlet.core.agent.containers import hugepages, layout
from flexlet.core.agent.containers.contents import (
    EmptyDirectory,
    FileSet,
    HostDirectory,
    Material,
    Problem,
    Reference,
    TokenRequest,
    VolumeContent,
)
from flexlet.core.agent.containers.security import everybody
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resources.effective import pod_limits
from flexlet.core.resources.names import MEMORY


def references(pod: NodePod) -> frozenset[Reference]:
    """Objects that must be fetched before `contents`."""
    return frozenset(each for volume in pod.spec.volumes for each in _references(volume))


def _references(volume: Volume) -> Iterator[Reference]:
    if volume.config_map is not None:
        yield Reference(layout.CONFIG_MAP, volume.config_map.name)
    if volume.secret is not None:
        yield Reference(layout.SECRET, volume.secret.secret_name)
    for source in volume.projected.sources if volume.projected is not None else ():
        if source.config_map is not None:
            yield Reference(layout.CONFIG_MAP, source.config_map.name)
        if source.secret is not None:
            yield Reference(layout.SECRET, source.secret.name)


def tokens(pod: NodePod) -> frozenset[TokenRequest]:
    """Service-account tokens that must be fetched before `contents`."""
    return frozenset(
        TokenRequest(source.service_account_token.audience, source.service_account_token.expiration_seconds)
        for volume in pod.spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
        if source.service_account_token is not None
    )


def named(pod: NodePod, name: str) -> Volume | None:
    """A volume by its name."""
    return next((each for each in pod.spec.volumes if each.name == name), None)


def of_images(pod: NodePod, container: NodeContainer) -> tuple[Volume, ...]:
    """Volumes that are images and that the container mounts, each once."""
    found = (named(pod, name) for name in dict.fromkeys(mount.name for mount in container.volume_mounts))
    return tuple(each for each in found if each is not None and each.image is not None)


def path_of(pod: NodePod, name: str, setup: NodeSetup) -> str:
    """Where a volume lies on the host."""
    volume = named(pod, name) or Volume(name=name)
    if volume.host_path is not None:
        return volume.host_path.path
    return f"{setup.root}/pods/{pod.metadata.uid}/volumes/kubernetes.io~{_plugin(volume)}/{volume.name}"


def is_read_only(volume: Volume) -> bool:
    """Whether a volume is made by the node and not for writing."""
    return _plugin(volume) not in {"empty-dir", "host-path"}


def _plugin(volume: Volume) -> str:
    """Part of the directory's name; a volume that says nothing is an empty directory."""
    sources = {
        "host-path": volume.host_path,
        "configmap": volume.config_map,
        "secret": volume.secret,
        "projected": volume.projected,
        "downward-api": volume.downward_api,
        "image": volume.image,
    }
    return next((plugin for plugin, source in sources.items() if source is not None), "empty-dir")


def contents(
    pod: NodePod, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> tuple[VolumeContent, ...] | Problem:
    """All volumes that lie on the host; the first one that cannot be made is the problem."""
    made: list[VolumeContent] = []
    for volume in pod.spec.volumes:
        if volume.image is not None:
            continue
        content = _content(pod, volume, setup, material, ips)
        if isinstance(content, Problem):
            return Problem(content.message, volume.name)
        made.append(content)
    return tuple(made)


def _content(
    pod: NodePod, volume: Volume, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> VolumeContent | Problem:
    if volume.host_path is not None:
        return HostDirectory(name=volume.name, path=volume.host_path.path, type=volume.host_path.type or "")
    plugin = _plugin(volume)
    if plugin == "empty-dir":
        return _empty(pod, volume, setup)
    files = layout.files(volume, layout.Sources(pod, setup, material, ips))
    if isinstance(files, Problem):
        return files
    in_memory = volume.config_map is None
    return FileSet(
        name=volume.name,
        plugin=plugin,
        files=files,
        in_memory=in_memory,
        size_bytes=memory_size(pod, setup) if in_memory else None,
        nested=nested(pod, volume.name),
    )


def memory_size(pod: NodePod, setup: NodeSetup, own: int = 0) -> int | None:
    """How large a directory in memory may be: the least of its own limit, the pod's and what the node has."""
    found = (pod_limits(pod).get(MEMORY), setup.allocatable.get(MEMORY))
    known = [own, *(each.value for each in found if each is not None)]
    return min((each for each in known if each > 0), default=None)


def _empty(pod: NodePod, volume: Volume, setup: NodeSetup) -> EmptyDirectory | Problem:
    source = volume.empty_dir or EmptyDir()
    if not source.medium:
        return EmptyDirectory(name=volume.name)
    if hugepages.is_medium(source.medium):
        found = hugepages.page_size(source.medium, pod)
        return (
            found if isinstance(found, Problem) else EmptyDirectory(name=volume.name, page_size=found, mode=0o755)
        )
    if source.medium != "Memory":
        return Problem(f'unknown storage medium "{source.medium}"')
    size = memory_size(pod, setup, source.size_limit.value if source.size_limit is not None else 0)
    return EmptyDirectory(name=volume.name, in_memory=True, size_bytes=size, mode=0o1777)


def nested(pod: NodePod, name: str) -> tuple[str, ...]:
    """Directories of a volume on which some container mounts another one; not those below such a directory."""
    return tuple(dict.fromkeys(each for container in everybody(pod) for each in _nested(container, name)))


def _nested(container: NodeContainer, name: str) -> Iterator[str]:
    every = sorted(layout.clean(mount.mount_path) for mount in container.volume_mounts)
    for mount in container.volume_mounts:
        if mount.name != name:
            continue
        above = layout.clean(mount.mount_path) + "/"
        seen: list[str] = []
        for path in every:
            if path.startswith(above) and not path.startswith(tuple(seen)):
                seen.append(path + "/")
                yield path.removeprefix(above)
