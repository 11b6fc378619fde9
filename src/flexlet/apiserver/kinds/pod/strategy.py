"""The main path of pods: create, update, patch."""

from collections.abc import Mapping
from typing import Any

from flexlet.api import names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object, Strategy
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.columns import COLUMNS
from flexlet.apiserver.kinds.pod.creation import prepare_new_pod
from flexlet.apiserver.kinds.pod.defaults import default_pod, mirror_service_account
from flexlet.apiserver.kinds.pod.disabled import drop_disabled_spec
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.knownspecs import KnownSpecs, fingerprint
from flexlet.apiserver.kinds.pod.scope import rules_after, rules_of
from flexlet.apiserver.kinds.pod.selectable import selectable_fields
from flexlet.apiserver.kinds.pod.spec import validate_new_pod
from flexlet.apiserver.kinds.pod.table import over, pod_cells
from flexlet.apiserver.kinds.pod.update import validate_pod_update
from flexlet.apiserver.kinds.pod.warnings import name_warnings, pod_warnings


class PodStrategy(Strategy):
    """The rules of pods under a set of feature gates."""

    columns = COLUMNS["Pod"]

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._rules = rules_of(gates)
        self._faultless = KnownSpecs()
        self._unremarkable = KnownSpecs()

    def default(self, obj: Object) -> None:
        """Complete the pod and give it the shape it is stored in."""
        default_pod(obj, self._gates)

    def prepare_create(self, obj: Object) -> None:
        """A new pod is pending, in generation 1."""
        prepare_new_pod(obj, self._gates)

    def validate(self, obj: Object) -> list[FieldError]:
        """All findings about a new pod."""
        found = fingerprint(obj)
        if found in self._faultless:
            return metadata.validate(obj, names.dns1123_subdomain)
        errors = validate_new_pod(obj, self._rules)
        if found is not None and not errors:
            self._faultless.add(found)
        return errors

    def warnings(self, obj: Object) -> list[str]:
        """What is accepted and still worth a word."""
        found = fingerprint(obj)
        if found in self._unremarkable:
            return name_warnings(obj)
        warnings = pod_warnings(obj)
        if found is not None and not warnings:
            self._unremarkable.add(found)
        return warnings

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status changes elsewhere; a change of the spec counts the generation up."""
        obj["status"] = old.get("status") or {}
        drop_disabled_spec(obj["spec"], old["spec"], self._gates)
        mirror_service_account(obj["spec"])
        count_generation(obj, old)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The few changes that are allowed."""
        return validate_pod_update(obj, old, rules_after(self._rules, old["spec"]))

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Node, policies, account, phase, address."""
        return selectable_fields(obj)

    def cells(self, obj: Object, now: float) -> list[Any]:
        """One line of ``kubectl get pods``."""
        return pod_cells(obj, now)

    def row_conditions(self, obj: Object) -> list[Object]:
        """Whether the pod is over."""
        return over(obj)


def count_generation(pod: Object, old: Object) -> None:
    """The generation counts changes of what the spec means, on every path that can change it."""
    generation = old["metadata"].get("generation") or 0
    pod["metadata"]["generation"] = generation + (not same(pod["spec"], old["spec"]))
