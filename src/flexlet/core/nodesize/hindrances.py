"""What in a cluster would be in the way of balloons, to be known before one is refused (balloon.md §3, §5.1)."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.node import Taint
from flexlet.api.pod import PodSpec
from flexlet.core.nodesize import names
from flexlet.core.scheduling import filters

_COUNTED: Final = frozenset(
    f"{prefix}{resource}" for prefix in ("", "requests.", "limits.") for resource in ("cpu", "memory")
)
_PENDING: Final = Taint(key=names.PENDING_TAINT, effect="NoSchedule")


class _Limit(KubeStruct, frozen=True, kw_only=True):
    max: dict[str, Any] = msgspec.field(default_factory=dict)
    default: dict[str, Any] = msgspec.field(default_factory=dict)


class _Limits(KubeStruct, frozen=True, kw_only=True):
    limits: tuple[_Limit, ...] = ()


class LimitRange(KubeStruct, frozen=True, kw_only=True):
    """What pods of a namespace are given, and how much they may have."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Limits = _Limits()


class _Scope(KubeStruct, frozen=True, kw_only=True):
    scope_name: str = ""


class _Selector(KubeStruct, frozen=True, kw_only=True):
    match_expressions: tuple[_Scope, ...] = ()


class _Hard(KubeStruct, frozen=True, kw_only=True):
    hard: dict[str, Any] = msgspec.field(default_factory=dict)
    scope_selector: _Selector = _Selector()


class ResourceQuota(KubeStruct, frozen=True, kw_only=True):
    """How much all pods of a namespace may have together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Hard = _Hard()


class _Template(KubeStruct, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()


class _Daemons(KubeStruct, frozen=True, kw_only=True):
    template: _Template = _Template()


class DaemonSet(KubeStruct, frozen=True, kw_only=True):
    """A pod for every node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Daemons = _Daemons()


def limiting(ranges: Iterable[LimitRange], quotas: Iterable[ResourceQuota]) -> list[str]:
    """Objects of the balloons' namespace by which an inflate may be refused."""
    found = [f"LimitRange {each.metadata.name}" for each in ranges if _limits(each)]
    return found + [f"ResourceQuota {each.metadata.name}" for each in quotas if _counts(each)]


def shut_out(daemons: Iterable[DaemonSet]) -> list[str]:
    """DaemonSets that do not run on a node which waits for its balloon."""
    return sorted(
        f"{each.metadata.namespace}/{each.metadata.name}"
        for each in daemons
        if not filters.tolerates(_PENDING, each.spec.template.spec.tolerations)
    )


def _limits(found: LimitRange) -> bool:
    return any(each.max or each.default for each in found.spec.limits)


def _counts(quota: ResourceQuota) -> bool:
    """Whether balloons count: not where it is for classes of its own choice."""
    by_class = any(each.scope_name == "PriorityClass" for each in quota.spec.scope_selector.match_expressions)
    return bool(_COUNTED & set(quota.spec.hard)) and not by_class
