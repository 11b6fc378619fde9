"""A container's environment: services, whole objects, then single variables, later ones seeing earlier ones."""

from collections.abc import Iterator

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.container import EnvSource, KeySelector
from flexlet.core.agent.containers import downward, expansion, services
from flexlet.core.agent.containers.contents import Material, Problem, Reference
from flexlet.core.agent.setup import NodeSetup

CONFIG_MAP = "ConfigMap"
SECRET = "Secret"  # noqa: S105 the kind's name


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


def resolve(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, material: Material, ips: tuple[str, ...]
) -> tuple[tuple[str, str], ...] | Problem:
    """All variables, sorted by name; the first thing that is missing is the problem."""
    found = _whole_objects(container, material)
    if isinstance(found, Problem):
        return found
    links = services.variables(pod, setup)
    for variable in container.env:
        if variable.value_from is None:
            found[variable.name] = expansion.expanded(variable.value, {**links, **found})
            continue
        value = _value(pod, container, setup, material, ips, variable.value_from)
        if isinstance(value, Problem):
            return value
        if value is not None:
            found[variable.name] = value
    return tuple(sorted({**links, **found}.items()))


def _whole_objects(container: NodeContainer, material: Material) -> dict[str, str] | Problem:
    found: dict[str, str] = {}
    for each in container.env_from:
        for kind, source in ((CONFIG_MAP, each.config_map_ref), (SECRET, each.secret_ref)):
            if source is None:
                continue
            data = material.objects.get(Reference(kind, source.name))
            if data is None and not source.optional:
                return Problem(f'{kind.lower()} "{source.name}" not found')
            found |= {each.prefix + key: value.decode(errors="replace") for key, value in (data or {}).items()}
    return found


def _value(
    pod: NodePod,
    container: NodeContainer,
    setup: NodeSetup,
    material: Material,
    ips: tuple[str, ...],
    source: EnvSource,
) -> str | Problem | None:
    """The value, None if an optional source has none."""
    if source.field_ref is not None:
        return downward.field(pod, source.field_ref, setup, ips)
    if source.resource_field_ref is not None:
        wanted = source.resource_field_ref.container_name
        whom = next((c for c in pod.spec.containers if c.name == wanted), container) if wanted else container
        return downward.amount(pod, whom, source.resource_field_ref, setup)
    if source.config_map_key_ref is not None:
        return _key(pod, CONFIG_MAP, source.config_map_key_ref, material)
    if source.secret_key_ref is not None:
        return _key(pod, SECRET, source.secret_key_ref, material)
    return Problem("unsupported source of an environment variable")


def _key(pod: NodePod, kind: str, selector: KeySelector, material: Material) -> str | Problem | None:
    data = material.objects.get(Reference(kind, selector.name))
    if data is None:
        return None if selector.optional else Problem(f'{kind.lower()} "{selector.name}" not found')
    if selector.key in data:
        return data[selector.key].decode(errors="replace")
    if selector.optional:
        return None
    return Problem(f"couldn't find key {selector.key} in {kind} {pod.metadata.namespace}/{selector.name}")
