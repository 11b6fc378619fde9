"""The fields of a ResourceQuota that flexlet reads."""

from collections.abc import Iterator

from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.pod import ResourceList


class Scope(KubeStruct, frozen=True, kw_only=True):
    """One condition on the pods a quota counts."""

    scope_name: str = ""
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ScopeSelector(KubeStruct, frozen=True, kw_only=True):
    """The written-out form of scopes."""

    match_expressions: tuple[Scope, ...] = ()


class ResourceQuotaSpec(KubeStruct, frozen=True, kw_only=True):
    """What a namespace may use, and which objects count."""

    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None

    def selectors(self) -> Iterator[Scope]:
        """Short and written-out scopes alike."""
        for name in self.scopes:
            yield Scope(scope_name=name)
        if self.scope_selector is not None:
            yield from self.scope_selector.match_expressions


class ResourceQuotaStatus(KubeStruct, frozen=True, kw_only=True):
    """The limits in force and what counts towards them; a name without usage was never measured."""

    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(KubeStruct, frozen=True, kw_only=True):
    """A quota of one namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
