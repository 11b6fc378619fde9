"""Discovery: which groups, versions and resources are served, in the plain and the aggregated form.

Documents are built from the registry and kept until it changes; the aggregated ones carry an ETag so that kubectl
asks for them once. Both forms say the same.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from flexlet.api import apiversions
from flexlet.apiserver.contract.kind import Kind, Subresource
from flexlet.apiserver.rest.registry import Registry

AGGREGATED_MEDIA: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
# Upstream's order of groups; others follow by name.
GROUP_ORDER: Final = (
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
)
CHANGING: Final = ("create", "patch", "update")


class Aggregated(msgspec.Struct, frozen=True):
    """An aggregated document and its tag."""

    body: bytes
    etag: str


class Discovery:
    """All discovery documents of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._kept: dict[str, Aggregated] = {}

    def groups(self) -> list[str]:
        """The named groups in the order they are listed."""
        names = [group for group in self._registry.groups() if group]
        return sorted(names, key=_group_place)

    def versions(self, server: str) -> dict[str, Any]:
        """``/api``."""
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}]
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}

    def group_list(self) -> dict[str, Any]:
        """``/apis``."""
        groups = [self._group(name) for name in self.groups()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> dict[str, Any] | None:
        """``/apis/G``, if there is such a group."""
        if name not in self._registry.groups():
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def is_defined(self, group: str) -> bool:
        """Whether the group exists by definitions only."""
        return all(kind.custom for kind in self._registry.kinds() if kind.group == group)

    def resources(self, group: str, version: str) -> dict[str, Any] | None:
        """``/apis/G/V`` or ``/api/V``, if it is served."""
        kinds = self._kinds(group, version)
        if not kinds:
            return None
        entries = [entry for kind in kinds for entry in _plain(kind)]
        head = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
        return {**head, "groupVersion": kinds[0].api_version, "resources": entries}

    def aggregated(self, root: str) -> Aggregated:
        """The aggregated document of ``/api`` or ``/apis``."""
        if self._generation != self._registry.generation:
            self._kept.clear()
            self._generation = self._registry.generation
        found = self._kept.get(root)
        if found is None:
            found = self._kept[root] = self._build([""] if root == "api" else self.groups())
        return found

    def _build(self, groups: Sequence[str]) -> Aggregated:
        items = [self._aggregated_group(name) for name in groups if name in self._registry.groups()]
        names = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
        body = msgspec.json.encode({**names, "metadata": {}, "items": items})
        return Aggregated(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')

    def _aggregated_group(self, name: str) -> dict[str, Any]:
        versions = [
            {
                "version": version,
                "resources": [_aggregated(kind) for kind in self._kinds(name, version)],
                "freshness": "Current",
            }
            for version in self._versions(name)
        ]
        return {"metadata": {"name": name} if name else {}, "versions": versions}

    def _group(self, name: str) -> dict[str, Any]:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._versions(name)]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first."""
        return sorted(self._registry.groups()[group], key=apiversions.priority)

    def _kinds(self, group: str, version: str) -> list[Kind]:
        found = (kind for kind in self._registry.kinds() if (kind.group, kind.version) == (group, version))
        return sorted(found, key=lambda kind: kind.plural)


def _group_place(name: str) -> tuple[int, str]:
    return (GROUP_ORDER.index(name) if name in GROUP_ORDER else len(GROUP_ORDER), name)


def _plain(kind: Kind) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
        **_extras(kind),
    }
    if kind.stored:
        entry["storageVersionHash"] = _storage_hash(kind)
    return [entry, *(_plain_sub(kind, sub) for sub in _subresources(kind))]


def _verbs(kind: Kind) -> tuple[str, ...]:
    """What is left of a kind whose definition goes are looking and deleting."""
    return tuple(verb for verb in kind.verbs if verb not in CHANGING) if kind.terminating else kind.verbs


def _plain_sub(kind: Kind, sub: Subresource) -> dict[str, Any]:
    own = {"group": sub.group, "version": sub.version} if sub.kind and sub.version else {}
    return {
        "name": f"{kind.plural}/{sub.name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        **own,
        "kind": sub.kind or kind.kind,
        "verbs": sub.verbs,
    }


def _aggregated(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        **_extras(kind),
    }
    if kind.subresources:
        entry["subresources"] = [_aggregated_sub(kind, sub) for sub in _subresources(kind)]
    return entry


def _aggregated_sub(kind: Kind, sub: Subresource) -> dict[str, Any]:
    other = {"group": sub.group, "version": sub.version, "kind": sub.kind}
    response = other if sub.kind else _response_kind(kind)
    return {"subresource": sub.name, "responseKind": response, "verbs": sub.verbs}


def _response_kind(kind: Kind) -> dict[str, str]:
    """Built-in kinds leave out what the document says already."""
    group, version = (kind.group, kind.version) if kind.custom else ("", "")
    return {"group": group, "version": version, "kind": kind.kind}


def _storage_hash(kind: Kind) -> str:
    """Changes when objects are stored in another form; of a second face, that of the first."""
    group = kind.group if kind.storage_version or kind.custom else ""
    digest = hashlib.sha256(f"{group}/{kind.stored_as or kind.version}/{kind.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _extras(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if kind.short_names:
        found["shortNames"] = kind.short_names
    if kind.categories:
        found["categories"] = kind.categories
    return found


def _subresources(kind: Kind) -> list[Subresource]:
    if kind.custom:
        return list(kind.subresources)
    return sorted(kind.subresources, key=lambda sub: sub.name)
