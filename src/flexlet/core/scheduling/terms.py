"""Affinity terms between pods, compiled once: whom they speak about, and over which topology."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from flexlet.api import selectors
from flexlet.api.pod import Pod

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"

NamespaceLabels = Mapping[str, Mapping[str, str]]


class Term(msgspec.Struct, frozen=True):
    """One required term; `namespaces` and selected namespaces add up, neither means the holder's own."""

    topology_key: str
    selector: selectors.LabelSelector
    namespaces: frozenset[str]
    namespace_selector: selectors.LabelSelector | None

    def applies(self, namespace: str, labels: Mapping[str, str], known: NamespaceLabels) -> bool:
        """Whether a pod with these labels in this namespace is one the term speaks about."""
        if namespace not in self.namespaces and not self._selects(namespace, known):
            return False
        return self.selector.matches(labels)

    def _selects(self, namespace: str, known: NamespaceLabels) -> bool:
        return self.namespace_selector is not None and self.namespace_selector.matches(known.get(namespace, {}))


def required(pod: Pod, which: str) -> tuple[Term, ...]:
    """The required terms of a pod's ``podAffinity`` or ``podAntiAffinity``."""
    rules = (pod.spec.affinity or {}).get(which) or {}
    return tuple(_compiled(pod.metadata.namespace, rules.get(_REQUIRED) or ()))


def _compiled(namespace: str, terms: Iterable[Mapping[str, Any]]) -> Iterable[Term]:
    for term in terms:
        named, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
        own = (namespace,) if not named and chosen is None else named
        yield Term(
            topology_key=term["topologyKey"],
            selector=selectors.from_object(term.get("labelSelector")),
            namespaces=frozenset(own),
            namespace_selector=None if chosen is None else selectors.from_object(chosen),
        )
