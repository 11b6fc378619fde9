"""A pod's volumes: what they are made from, what is in them, where they lie.

ConfigMaps are plain directories, everything that may be secret or about the pod lies in memory. Follows the
kubelet's volume plugins; the wording of problems is what people see in FailedMount events.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.api.nodepod import NodePod
from flexlet.api.nodepod.volumes import ConfigMapSource, DownwardApi, KeyToPath, Projected, SecretSource, Volume
from flexlet.core.agent.containers import downward
from flexlet.core.agent.containers.container import named
from flexlet.core.agent.containers.contents import (
    EmptyDirectory,
    File,
    FileSet,
    HostDirectory,
    Material,
    Problem,
    Reference,
    TokenRequest,
    VolumeContent,
)
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resources.effective import pod_limits
from flexlet.core.resources.names import MEMORY

_MODE: Final = 0o644
_CONFIG_MAP: Final = "ConfigMap"
_SECRET: Final = "Secret"  # noqa: S105 the kind's name
_MISSING_KEY: Final = {
    _CONFIG_MAP: "configmap references non-existent config key: ",
    _SECRET: "references non-existent secret key: ",
}
Files = dict[str, File]


def references(pod: NodePod) -> frozenset[Reference]:
    """Objects that must be fetched before `contents`."""
    return frozenset(each for volume in pod.spec.volumes for each in _references(volume))


def _references(volume: Volume) -> Iterator[Reference]:
    if volume.config_map is not None:
        yield Reference(_CONFIG_MAP, volume.config_map.name)
    if volume.secret is not None:
        yield Reference(_SECRET, volume.secret.secret_name)
    for source in volume.projected.sources if volume.projected is not None else ():
        if source.config_map is not None:
            yield Reference(_CONFIG_MAP, source.config_map.name)
        if source.secret is not None:
            yield Reference(_SECRET, source.secret.name)


def tokens(pod: NodePod) -> frozenset[TokenRequest]:
    """Service-account tokens that must be fetched before `contents`."""
    return frozenset(
        TokenRequest(source.service_account_token.audience, source.service_account_token.expiration_seconds)
        for volume in pod.spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
        if source.service_account_token is not None
    )


def path_of(pod: NodePod, name: str, setup: NodeSetup) -> str:
    """Where a volume lies on the host."""
    volume = next(each for each in pod.spec.volumes if each.name == name)
    if volume.host_path is not None:
        return volume.host_path.path
    return f"{setup.root}/pods/{pod.metadata.uid}/volumes/kubernetes.io~{_plugin(volume)}/{name}"


def is_read_only(pod: NodePod, name: str) -> bool:
    """Whether a volume is made by the node and not for writing."""
    volume = next(each for each in pod.spec.volumes if each.name == name)
    return volume.empty_dir is None and volume.host_path is None


def _plugin(volume: Volume) -> str:
    if volume.empty_dir is not None:
        return "empty-dir"
    if volume.config_map is not None:
        return "configmap"
    if volume.secret is not None:
        return "secret"
    return "projected" if volume.projected is not None else "downward-api"


def contents(
    pod: NodePod, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> tuple[VolumeContent, ...] | Problem:
    """All volumes; the first one that cannot be made is the problem."""
    made: list[VolumeContent] = []
    for volume in pod.spec.volumes:
        content = _content(pod, volume, setup, material, ips)
        if isinstance(content, Problem):
            return Problem(content.message, volume.name)
        made.append(content)
    return tuple(made)


def _content(
    pod: NodePod, volume: Volume, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> VolumeContent | Problem:
    if volume.empty_dir is not None:
        return _empty(pod, volume, setup)
    if volume.host_path is not None:
        return HostDirectory(name=volume.name, path=volume.host_path.path, type=volume.host_path.type or "")
    files = _Layout(pod, setup, material, ips).of(volume)
    if isinstance(files, Problem):
        return files
    in_memory = volume.config_map is None
    size = memory_limit(pod) if in_memory else None
    return FileSet(name=volume.name, plugin=_plugin(volume), files=files, in_memory=in_memory, size_bytes=size)


def memory_limit(pod: NodePod) -> int | None:
    """How large a directory in memory may be: the pod's limit, None without one."""
    limit = pod_limits(pod).get(MEMORY)
    return limit.value if limit else None


def _empty(pod: NodePod, volume: Volume, setup: NodeSetup) -> EmptyDirectory:
    source = volume.empty_dir
    assert source is not None  # noqa: S101 asked by the caller
    if source.medium != "Memory":
        return EmptyDirectory(name=volume.name)
    bounds = [memory_limit(pod), source.size_limit.value if source.size_limit else None]
    node = setup.allocatable.get(MEMORY)
    known = [each for each in (*bounds, node.value if node else None) if each]
    return EmptyDirectory(name=volume.name, in_memory=True, size_bytes=min(known, default=None), mode=0o1777)


class _Layout:
    """The files of one volume."""

    def __init__(self, pod: NodePod, setup: NodeSetup, material: Material, ips: tuple[str, ...]) -> None:
        self.pod = pod
        self.setup = setup
        self.material = material
        self.ips = ips

    def of(self, volume: Volume) -> Files | Problem:
        if volume.config_map is not None:
            return self._config_map(volume.config_map, volume.config_map.default_mode)
        if volume.secret is not None:
            return self._secret(volume.secret)
        if volume.downward_api is not None:
            return self._downward(volume.downward_api, volume.downward_api.default_mode)
        if volume.projected is not None:
            return self._projected(volume.projected)
        return Problem("no volume plugin matched")

    def _config_map(self, source: ConfigMapSource, mode: int | None) -> Files | Problem:
        reference = Reference(_CONFIG_MAP, source.name)
        return self._keys(reference, source.items, mode, optional=bool(source.optional))

    def _secret(self, source: SecretSource) -> Files | Problem:
        reference = Reference(_SECRET, source.secret_name)
        return self._keys(reference, source.items, source.default_mode, optional=bool(source.optional))

    def _keys(
        self, reference: Reference, items: tuple[KeyToPath, ...], mode: int | None, *, optional: bool
    ) -> Files | Problem:
        data = self.material.objects.get(reference)
        if data is None:
            return {} if optional else Problem(f'{reference.kind.lower()} "{reference.name}" not found')
        usual = _MODE if mode is None else mode
        if not items:
            return {key: File(value, usual) for key, value in data.items()}
        files: Files = {}
        for item in items:
            if item.key in data:
                files[item.path] = File(data[item.key], usual if item.mode is None else item.mode)
            elif not optional:
                return Problem(_MISSING_KEY[reference.kind] + item.key)
        return files

    def _downward(self, source: DownwardApi, mode: int | None) -> Files | Problem:
        usual = _MODE if mode is None else mode
        files: Files = {}
        for item in source.items:
            if item.field_ref is not None:
                text = downward.field(self.pod, item.field_ref, self.setup, self.ips)
            elif item.resource_field_ref is not None:
                whom = named(self.pod, item.resource_field_ref.container_name)
                text = downward.amount(self.pod, whom, item.resource_field_ref, self.setup)
            else:
                text = Problem("neither a field nor a resource")
            if isinstance(text, Problem):
                return text
            files[item.path] = File(text.encode(), usual if item.mode is None else item.mode)
        return files

    def _token_mode(self, mode: int | None) -> int:
        """Nobody else may read it where it is known who must: the group of the volume, or the one user."""
        spec = self.pod.spec
        users = {each.security_context.run_as_user for each in (*spec.init_containers, *spec.containers)}
        if spec.security_context.fs_group is not None or (len(users) == 1 and None not in users):
            return 0o600
        return _MODE if mode is None else mode

    def _projected(self, source: Projected) -> Files | Problem:
        files: Files = {}
        mode = source.default_mode
        for part in source.sources:
            found: Files | Problem = {}
            if part.config_map is not None:
                found = self._config_map(part.config_map, mode)
            elif part.secret is not None:
                reference = Reference(_SECRET, part.secret.name)
                found = self._keys(reference, part.secret.items, mode, optional=bool(part.secret.optional))
            elif part.downward_api is not None:
                found = self._downward(part.downward_api, mode)
            elif part.service_account_token is not None:
                request = part.service_account_token
                token = self.material.tokens[TokenRequest(request.audience, request.expiration_seconds)]
                found = {request.path: File(token.encode(), self._token_mode(mode))}
            if isinstance(found, Problem):
                return found
            files |= found
        return files
