"""Parts of a reported status: addresses, users, devices and their health."""

import ipaddress
from typing import Final

from flexlet.api import addresses, names
from flexlet.api.fielderrors import (
    INTERNAL,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.scope import Errors

HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
MAX_HEALTH_MESSAGE: Final = 1024
_STATUS_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CLAIM: Final = (
    "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' "
    "or 'claim:<claimName>' if request is empty"
)


def validate_addresses(status: Object, earlier: Object, key: str, single: str | None, errors: Errors) -> None:
    """Addresses of the pod or of its host: at most one of each family."""
    path, entries = f"status.{key}", status.get(key) or []
    if not entries:
        return
    found = [entry.get("ip") or "" for entry in entries]
    if single is not None and (status.get(single) or "") != found[0]:
        errors.append(invalid(f"{path}[0].ip", found[0], f"must be equal to `{single}`"))
    known = {entry.get("ip") or "" for entry in earlier.get(key) or ()}
    for i, address in enumerate(found):
        complaints = [] if address in known else addresses.legacy_ip(address)
        errors += [invalid(f"{path}[{i}]", address, text) for text in complaints]
    if len(found) > 1:
        _validate_families(found, path, errors)


def _validate_families(found: list[str], path: str, errors: Errors) -> None:
    families = [_family(address) for address in found]
    if 0 in families:
        i = families.index(0)
        text = f"Internal error: failed to check for dual stack with error:invalid IP[{i}]: {found[i]}"
        errors.append(FieldError(path, INTERNAL, text))
    if len(found) > 2 or set(families) != {4, 6}:
        shown = [{"IP": address} for address in found]
        errors.append(invalid(path, shown, "may specify no more than one IP for each IP family"))


def _family(address: str) -> int:
    """4 or 6, or 0 where there is no telling; an IPv4 address in IPv6 clothes is IPv4."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return 0
    mapped = isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None
    return 4 if mapped else parsed.version


def validate_users(status: Object, spec: Object, errors: Errors) -> None:
    """The ids a container runs with."""
    system = (spec.get("os") or {}).get("name", "linux")
    for key in _STATUS_LISTS:
        for i, entry in enumerate(status.get(key) or ()):
            linux = (entry.get("user") or {}).get("linux")
            path = f"status.{key}[{i}].user.linux"
            if linux is None:
                continue
            if system == "windows":
                errors.append(forbidden(path, "cannot be set for a windows pod"))
            elif system == "linux":
                _validate_ids(linux, path, errors)


def _validate_ids(user: Object, path: str, errors: Errors) -> None:
    for key in ("uid", "gid"):
        number = user.get(key) or 0
        errors += [invalid(f"{path}.{key}", number, text) for text in names.user_id(number)]
    for i, group in enumerate(user.get("supplementalGroups") or ()):
        errors += [invalid(f"{path}.supplementalGroups[{i}]", group, text) for text in names.group_id(group)]


def validate_health(status: Object, spec: Object, errors: Errors) -> None:
    """The health of the devices a container was given."""
    for key, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        by_name = {c.get("name"): c for c in reversed(spec.get(containers) or ())}
        for i, entry in enumerate(status.get(key) or ()):
            for j, resource in enumerate(entry.get("allocatedResourcesStatus") or ()):
                path = f"status.{key}[{i}].allocatedResourcesStatus[{j}]"
                _validate_allocated(resource, by_name.get(entry.get("name")), path, errors)
    for i, entry in enumerate(status.get("ephemeralContainerStatuses") or ()):
        if entry.get("allocatedResourcesStatus"):
            path = f"status.ephemeralContainerStatuses[{i}].allocatedResourcesStatus"
            errors.append(forbidden(path, "must not be specified in container status"))


def _validate_allocated(resource: Object, container: Object | None, path: str, errors: Errors) -> None:
    name = resource.get("name") or ""
    if container is not None and name not in _resource_names(container, name):
        text = _CLAIM if name.startswith("claim:") else "must match one of the container's resource requests"
        errors.append(invalid(f"{path}.name", name, text))
    seen: set[str] = set()
    for i, device in enumerate(resource.get("resources") or ()):
        _validate_device(device, seen, f"{path}.resources[{i}]", errors)


def _resource_names(container: Object, name: str) -> list[str]:
    resources = container.get("resources") or {}
    if not name.startswith("claim:"):
        return list(resources.get("requests") or ())
    claims = resources.get("claims") or ()
    return [f"claim:{c['name']}/{c['request']}" if c.get("request") else f"claim:{c.get('name')}" for c in claims]


def _validate_device(device: Object, seen: set[str], path: str, errors: Errors) -> None:
    health, message, identity = device.get("health") or "", device.get("message"), device.get("resourceID") or ""
    if health not in HEALTH:
        errors.append(not_supported(f"{path}.health", health, HEALTH))
    if message == "":
        errors.append(required(f"{path}.message", "must be non-empty if specified"))
    elif message is not None and len(message.encode()) > MAX_HEALTH_MESSAGE:
        errors.append(too_long(f"{path}.message", MAX_HEALTH_MESSAGE))
    if identity in seen:
        errors.append(duplicate(f"{path}.resourceID", identity))
    seen.add(identity)


def validate_claims(status: Object, spec: Object, errors: Errors) -> None:
    """The resource claims made for the pod."""
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    taken: set[str] = set()
    for i, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        path, name = f"status.resourceClaimStatuses[{i}]", entry.get("name") or ""
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{path}.name", name, text))
        if name in taken:
            errors.append(duplicate(f"{path}.name", name))
        taken.add(name)
        if (claim := entry.get("resourceClaimName")) is not None:
            errors += [invalid(f"{path}.resourceClaimName", claim, t) for t in names.dns1123_subdomain(claim)]
    if (extended := status.get("extendedResourceClaimStatus")) is not None:
        _validate_extended(extended, spec, "status.extendedResourceClaimStatus", errors)


def _validate_extended(status: Object, spec: Object, path: str, errors: Errors) -> None:
    containers = {c.get("name"): c for key in ("initContainers", "containers") for c in spec.get(key) or ()}
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    seen: set[tuple[str, ...]] = set()
    for i, mapping in enumerate(mappings):
        item = f"{path}.requestMappings[{i}]"
        key = tuple(mapping.get(field) or "" for field in ("containerName", "resourceName", "requestName"))
        _validate_mapping(key, containers, path, item, errors)
        if key in seen:
            fields = ("containerName", "resourceName", "requestName")
            errors += [duplicate(f"{item}.{field}", value) for field, value in zip(fields, key, strict=True)]
        seen.add(key)
    name = status.get("resourceClaimName") or ""
    if not name:
        errors.append(required(f"{path}.resourceClaimName"))
    else:
        errors += [invalid(f"{path}.resourceClaimName", name, text) for text in names.dns1123_subdomain(name)]


def _validate_mapping(
    key: tuple[str, ...], containers: dict[str, Object], path: str, item: str, errors: Errors
) -> None:
    container_name, resource, request = key
    container = containers.get(container_name)
    if container is None:
        text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
        errors.append(invalid(f"{item}.containerName", container_name, text))
    elif resource not in ((container.get("resources") or {}).get("requests") or {}):
        text = (
            "must match the extended resource name of an entry in spec.initContainers.resources.requests "
            "or spec.containers.resources.requests"
        )
        errors.append(invalid(f"{item}.resourceName", resource, text))
    errors += [invalid(f"{path}.requestName", request, text) for text in names.dns1123_label(request)]
