"""A container's environment: services, whole objects, then single variables, later ones seeing earlier ones.

Values that come from elsewhere are never expanded. Bytes that are no text travel as they are: they are kept as
surrogates until the runtime is given them.
"""

from collections.abc import Iterator

import msgspec

from flexlet.api import gotext
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import EnvSource, FileKeySelector, KeySelector
from flexlet.core.agent.containers import downward, envfiles, expansion, layout, services, volumes
from flexlet.core.agent.containers.contents import FileReference, Material, Problem, Reference
from flexlet.core.agent.setup import NodeSetup

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"  # noqa: S105 the kind's name

Variables = tuple[tuple[str, str], ...]


def references(container: NodeContainer) -> frozenset[Reference]:
    """Objects that must be fetched before `resolve`."""
    return frozenset(_references(container))


def _references(container: NodeContainer) -> Iterator[Reference]:
    for each in container.env_from:
        if each.config_map_ref is not None:
            yield Reference(CONFIG_MAP, each.config_map_ref.name)
        if each.secret_ref is not None:
            yield Reference(SECRET, each.secret_ref.name)
    for variable in container.env:
        source = variable.value_from
        if source is not None and source.config_map_key_ref is not None:
            yield Reference(CONFIG_MAP, source.config_map_key_ref.name)
        if source is not None and source.secret_key_ref is not None:
            yield Reference(SECRET, source.secret_key_ref.name)


def files(pod: NodePod, container: NodeContainer, setup: NodeSetup) -> frozenset[FileReference]:
    """Files that must be read before `resolve`."""
    sources = (each.value_from for each in container.env if not each.value and each.value_from is not None)
    selectors = (each.file_key_ref for each in sources if each.file_key_ref is not None)
    return frozenset(_place(pod, each, setup) for each in selectors if volumes.named(pod, each.volume_name))


def _place(pod: NodePod, selector: FileKeySelector, setup: NodeSetup) -> FileReference:
    return FileReference(volumes.path_of(pod, selector.volume_name, setup), selector.path)


class _Sources(msgspec.Struct, frozen=True):
    """Where values come from."""

    pod: NodePod
    container: NodeContainer
    setup: NodeSetup
    material: Material
    ips: tuple[str, ...]


def resolve(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> Variables | Problem:
    """All variables, sorted by name; the first thing that is missing is the problem."""
    sources = _Sources(pod, container, setup, material, ips)
    links = services.variables(pod, setup)
    found = _whole_objects(container, material)
    if isinstance(found, Problem):
        return found
    known = {**links, **found}
    for variable in container.env:
        value: str | Problem | None
        if variable.value or variable.value_from is None:
            value = expansion.expanded(variable.value, known)
        else:
            value = _value(sources, variable.value_from)
        if isinstance(value, Problem):
            return value
        if value is not None:
            known[variable.name] = value
    return tuple(sorted(known.items()))


def _whole_objects(container: NodeContainer, material: Material) -> dict[str, str] | Problem:
    found: dict[str, str] = {}
    for each in container.env_from:
        for kind, source in ((CONFIG_MAP, each.config_map_ref), (SECRET, each.secret_ref)):
            if source is None:
                continue
            content = material.objects.get(Reference(kind, source.name))
            if content is not None:
                found |= {each.prefix + key: _text(value) for key, value in content.data.items()}
            elif not source.optional:
                return Problem(f'{kind.lower()} "{source.name}" not found')
    return found


def _value(sources: _Sources, source: EnvSource) -> str | Problem | None:
    """The value, None if an optional source has none."""
    pod, setup = sources.pod, sources.setup
    if source.field_ref is not None:
        return downward.field(pod, source.field_ref, setup, sources.ips)
    if source.resource_field_ref is not None:
        if source.resource_field_ref.container_name:
            return downward.amount_by_name(pod, source.resource_field_ref, setup)
        return downward.amount(pod, sources.container, source.resource_field_ref, setup)
    if source.config_map_key_ref is not None:
        return _key(pod, CONFIG_MAP, source.config_map_key_ref, sources.material)
    if source.secret_key_ref is not None:
        return _key(pod, SECRET, source.secret_key_ref, sources.material)
    if source.file_key_ref is not None:
        return _in_file(sources, source.file_key_ref)
    return ""


def _key(pod: NodePod, kind: str, selector: KeySelector, material: Material) -> str | Problem | None:
    content = material.objects.get(Reference(kind, selector.name))
    if content is not None and selector.key in content.data:
        return _text(content.data[selector.key])
    if selector.optional:
        return None
    if content is None:
        return Problem(f'{kind.lower()} "{selector.name}" not found')
    return Problem(f"couldn't find key {selector.key} in {kind} {pod.metadata.namespace}/{selector.name}")


def _in_file(sources: _Sources, selector: FileKeySelector) -> str | Problem | None:
    """What is wrong with a file is told to nobody: it may quote a secret. An empty value counts as none."""
    if volumes.named(sources.pod, selector.volume_name) is None:
        return Problem(f'cannot find the volume "{selector.volume_name}" referenced by FileKeyRef')
    place = _place(sources.pod, selector, sources.setup)
    data = sources.material.files.get(place)
    found = Problem("it cannot be read") if data is None else envfiles.value(data, selector.key)
    if isinstance(found, Problem):
        return Problem("couldn't parse env file")
    if found or selector.optional:
        return found or None
    path = f"{place.volume_path}/{layout.clean(place.path)}"
    return Problem(f"environment variable key {gotext.quote(selector.key)} not found in file {gotext.quote(path)}")


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")
