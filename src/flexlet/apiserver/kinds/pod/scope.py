"""What the validators of a pod's parts need to know of the whole."""

from collections.abc import Mapping

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

Errors = list[FieldError]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Which variant of the rules applies."""

    is_pod: bool = True
    """A pod of its own; False inside a workload's template."""
    pod_level_resources: bool = True
    sidecar_resize_policy: bool = True
    """Whether init containers may carry a resizePolicy."""


def rules_of(switched: Mapping[str, bool]) -> Rules:
    """The rules for pods under a set of feature gates."""
    return Rules(
        pod_level_resources=switched["PodLevelResources"],
        sidecar_resize_policy=switched["InPlacePodVerticalScaling"],
    )


class Scope(msgspec.Struct, kw_only=True):
    """The pod around a container: what it may mount, claim and expect."""

    rules: Rules
    volumes: dict[str, Object]
    """Volumes that are valid themselves, by name."""
    claims: frozenset[str]
    grace_period_s: int | None
    restart_policy: str
    host_users: bool


def rules_after(rules: Rules, old: Object) -> Rules:
    """The rules for changing a pod: what it already has may stay though a gate is off."""
    policies = any(c.get("resizePolicy") for c in old.get("initContainers") or ())
    if rules.sidecar_resize_policy or not policies:
        return rules
    return msgspec.structs.replace(rules, sidecar_resize_policy=True)
