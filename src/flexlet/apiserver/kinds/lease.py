"""Leases: heartbeats of nodes and locks of leaders."""

from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.kinds.strategy import KindStrategy, age_of, name_of

_STRATEGY: Final = "OldestEmulationVersion"


class LeaseStrategy(KindStrategy):
    """Who holds what until when; written with the version that was read, always."""

    type_name = "coordination.v1.Lease"

    def prepare_create(self, obj: Object) -> None:
        """Coordinated leader election is behind a gate that is off."""
        for field in ("strategy", "preferredHolder"):
            obj["spec"].pop(field, None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        """As on create, but what is stored may stay."""
        for field in ("strategy", "preferredHolder"):
            if field not in old.get("spec", {}):
                obj["spec"].pop(field, None)

    def check(self, obj: Object) -> list[FieldError]:
        """Durations are positive, transitions are counted up from nothing."""
        spec = obj["spec"]
        errors = []
        if spec.get("leaseDurationSeconds", 1) <= 0:
            errors.append(
                fielderrors.invalid(
                    "spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0"
                )
            )
        if spec.get("leaseTransitions", 0) < 0:
            errors.append(
                fielderrors.invalid(
                    "spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0"
                )
            )
        return errors + _check_election(spec)

    def cells(self, obj: Object, now: float) -> list[Any]:
        """Who holds it."""
        return [name_of(obj), obj.get("spec", {}).get("holderIdentity", ""), age_of(obj, now)]


def _check_election(spec: Object) -> list[FieldError]:
    strategy = spec.get("strategy")
    if strategy is None:
        unset = not spec.get("preferredHolder")
        text = "may only be specified if `strategy` is defined"
        return [] if unset else [fielderrors.forbidden("spec.preferredHolder", text)]
    if "/" not in strategy:
        known = strategy == _STRATEGY
        return [] if known else [fielderrors.not_supported("spec.strategy.strategy", strategy, (_STRATEGY,))]
    return [
        fielderrors.invalid("spec.strategy.strategy", strategy, complaint)
        for complaint in names.qualified_name(strategy)
    ]


LEASE: Final = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    singular="lease",
    namespaced=True,
    schema="coordination.v1.Lease",
    strategy=LeaseStrategy(),
    unconditional_update=False,
    create_on_update=True,
)
