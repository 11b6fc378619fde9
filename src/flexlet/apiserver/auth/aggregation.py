"""Aggregated ClusterRoles: the rules of a role gathered from the roles its selectors name. Pure.

Order as upstream's controller has it: selector by selector, role by role in order of name, each rule once.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from flexlet.api.selectors import SelectorFault, from_object
from flexlet.apiserver.contract.kind import Object


def outdated(roles: Sequence[Object]) -> dict[str, list[Any]]:
    """The aggregated roles whose rules differ from what they should be: name to the right rules."""
    ordered = sorted(roles, key=lambda role: str(role["metadata"]["name"]))
    changed: dict[str, list[Any]] = {}
    for role in ordered:
        if role.get("aggregationRule") is None:
            continue
        try:
            rules = gathered(role, ordered)
        except SelectorFault:
            continue  # a selector nobody can read gathers nothing and takes nothing away
        if rules != (role.get("rules") or []):
            changed[role["metadata"]["name"]] = rules
    return changed


def gathered(role: Object, ordered: Iterable[Object]) -> list[Any]:
    """The rules an aggregated role should have, from all roles in order of name."""
    others = [other for other in ordered if other["metadata"]["name"] != role["metadata"]["name"]]
    rules: list[Any] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selected = from_object(selector)
        for other in others:
            if selected.matches(other["metadata"].get("labels") or {}):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
