"""Which pods a quota looks at.

A quota without scopes looks at everything; with several, all of them must hold. Objects other than pods match no
scope at all, so a quota with scopes never counts them.
"""

from msgspec import Struct

from flexlet.api.quota import ResourceQuota, Scope


class PodTraits(Struct, frozen=True, kw_only=True):
    """What scopes ask of a pod."""

    terminating: bool = False
    """It has a deadline, so it ends by itself."""
    best_effort: bool = False
    priority_class: str = ""
    cross_namespace_affinity: bool = False


def in_scope(quota: ResourceQuota, traits: PodTraits | None) -> bool:
    """Whether every scope of the quota holds; None stands for an object that is no pod."""
    return all(traits is not None and _holds(scope, traits) for scope in quota.spec.selectors())


def _holds(scope: Scope, traits: PodTraits) -> bool:
    match scope.scope_name:
        case "Terminating":
            return traits.terminating
        case "NotTerminating":
            return not traits.terminating
        case "BestEffort":
            return traits.best_effort
        case "NotBestEffort":
            return not traits.best_effort
        case "PriorityClass":
            return _class_matches(scope, traits.priority_class)
        case "CrossNamespacePodAffinity":
            return traits.cross_namespace_affinity
        case _:
            return False


def _class_matches(scope: Scope, priority_class: str) -> bool:
    """As a label selector would: a pod without a class is in no set, and so also not in it."""
    match scope.operator:
        case "Exists":
            return bool(priority_class)
        case "DoesNotExist":
            return not priority_class
        case "In":
            return bool(priority_class) and priority_class in scope.values
        case "NotIn":
            return not priority_class or priority_class not in scope.values
        case _:
            return False
