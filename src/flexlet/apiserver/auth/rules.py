"""Policy rules: what they allow, what they cover, how they are printed. Pure.

Matching is on the path of every request that is not the administrator's; covering and printing are for the
escalation check. Follows ``pkg/apis/rbac/v1`` and ``component-helpers/auth/rbac/validation``.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Final

import msgspec

from flexlet.api.gotext import quote
from flexlet.apiserver.contract.request import Attributes

ALL: Final = "*"


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One PolicyRule; either its resources or its URLs are set."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


FULL_AUTHORITY: Final = (
    Rule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def rules_of(role: dict[str, Any]) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(msgspec.convert(_without_nulls(rule), Rule) for rule in role.get("rules") or ())


def _without_nulls(rule: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rule.items() if value is not None}


def is_resource(attributes: Attributes) -> bool:
    """Whether the request is for an API resource rather than for a bare path."""
    return bool(attributes.resource) or not attributes.path


def allows(rule: Rule, attributes: Attributes) -> bool:
    """Whether the rule permits the request."""
    if attributes.verb not in rule.verbs and ALL not in rule.verbs:
        return False
    if not is_resource(attributes):
        return any(_path_covers(url, attributes.path) for url in rule.non_resource_urls)
    return (
        (attributes.group in rule.api_groups or ALL in rule.api_groups)
        and _resource_allowed(rule.resources, attributes.resource, attributes.subresource)
        and (not rule.resource_names or attributes.name in rule.resource_names)
    )


def _resource_allowed(resources: tuple[str, ...], resource: str, subresource: str) -> bool:
    if not subresource:
        return resource in resources or ALL in resources
    return f"{resource}/{subresource}" in resources or ALL in resources or f"*/{subresource}" in resources


def _path_covers(pattern: str, path: str) -> bool:
    """Whether a URL pattern, which may end in ``*``, takes in a path or another pattern."""
    return pattern == path or (pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL)))


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of the wanted rules that no held rule covers, each with one verb, resource and name."""
    atoms = (atom for rule in wanted for atom in _atoms(rule))
    return [atom for atom in atoms if not any(_covers(rule, atom) for rule in held)]


def _atoms(rule: Rule) -> Iterable[Rule]:
    names: list[tuple[str, ...]] = [(name,) for name in rule.resource_names]
    for group, resource, verb, only in product(rule.api_groups, rule.resources, rule.verbs, names or [()]):
        yield Rule(verbs=(verb,), api_groups=(group,), resources=(resource,), resource_names=only)
    for url, verb in product(rule.non_resource_urls, rule.verbs):
        yield Rule(verbs=(verb,), non_resource_urls=(url,))


def _covers(rule: Rule, atom: Rule) -> bool:
    named = not rule.resource_names or (
        bool(atom.resource_names) and set(atom.resource_names) <= set(rule.resource_names)
    )
    return (
        named
        and (ALL in rule.verbs or set(atom.verbs) <= set(rule.verbs))
        and (ALL in rule.api_groups or set(atom.api_groups) <= set(rule.api_groups))
        and all(_resource_covered(rule.resources, resource) for resource in atom.resources)
        and all(any(_path_covers(own, url) for own in rule.non_resource_urls) for url in atom.non_resource_urls)
    )


def _resource_covered(resources: tuple[str, ...], wanted: str) -> bool:
    if ALL in resources or wanted in resources:
        return True
    _, slash, subresource = wanted.partition("/")
    return bool(slash) and f"*/{subresource}" in resources


def compact(atoms: Iterable[Rule]) -> list[Rule]:
    """Join atoms that differ by verb only; the order is that of first appearance."""
    joined: dict[Rule, tuple[str, ...]] = {}
    for atom in atoms:
        place = msgspec.structs.replace(atom, verbs=atom.verbs if atom.non_resource_urls else ())
        joined[place] = joined.get(place, ()) + atom.verbs
    return [msgspec.structs.replace(place, verbs=verbs) for place, verbs in joined.items()]


def describe(rule: Rule) -> str:
    """A rule as the refusal of an escalation shows it."""
    parts = (
        ("APIGroups", rule.api_groups),
        ("Resources", rule.resources),
        ("NonResourceURLs", rule.non_resource_urls),
        ("ResourceNames", rule.resource_names),
        ("Verbs", rule.verbs),
    )
    return "{" + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values) + "}"


def quoted_list(values: Iterable[str]) -> str:
    """Strings as Go's ``%q`` prints a list."""
    return f"[{' '.join(map(quote, values))}]"
