"""PodDisruptionBudgets; eviction honours them, ``/status`` tells how much is left."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import shape
from flexlet.apiserver.kinds.amounts import check_counts, check_not_above_all, check_share
from flexlet.apiserver.kinds.conditions import check_conditions
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.strategy import (
    KindStrategy,
    StatusStrategy,
    age_of,
    count_generation,
    keep,
    name_of,
)

_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class PodDisruptionBudgetStrategy(KindStrategy):
    """How many pods must stay, or may go."""

    type_name = "policy.v1.PodDisruptionBudget"

    def prepare_create(self, obj: Object) -> None:
        """Nothing is known yet of the pods."""
        obj["status"] = shape.zero("policy.v1.PodDisruptionBudgetStatus")
        obj["metadata"]["generation"] = 1

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Status has its own path."""
        keep(obj, old, "status")
        count_generation(obj, old, changed=obj["spec"] != old["spec"])

    def validate(self, obj: Object) -> list[FieldError]:
        """No rules for metadata but those that hold for everything."""
        spec = obj["spec"]
        errors = []
        if "minAvailable" in spec and "maxUnavailable" in spec:
            text = "minAvailable and maxUnavailable cannot be both set"
            errors.append(fielderrors.invalid("spec", _internal(spec), text))
        for key in ("minAvailable", "maxUnavailable"):
            if key in spec:
                errors += check_share(spec[key], f"spec.{key}")
                errors += check_not_above_all(spec[key], f"spec.{key}")
        validate_label_selector(spec.get("selector"), "spec.selector", errors)
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _POLICIES:
            errors.append(fielderrors.not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """As on create."""
        del old
        return self.validate(obj)

    def cells(self, obj: Object, now: float) -> list[Any]:
        """What is asked for, and how many may go now."""
        spec = obj["spec"]
        return [
            name_of(obj),
            str(spec.get("minAvailable", "N/A")),
            str(spec.get("maxUnavailable", "N/A")),
            obj["status"].get("disruptionsAllowed", 0),
            age_of(obj, now),
        ]


class PodDisruptionBudgetStatusStrategy(StatusStrategy):
    """``/status``: counted by a controller and by evictions."""

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Conditions and counts."""
        del old
        status = obj["status"]
        errors = check_conditions(status.get("conditions", ()), "status.conditions")
        return errors + check_counts(status, _COUNTS, "status")


def _internal(spec: Object) -> Object:
    """The spec as upstream's internal form prints it."""
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }


POD_DISRUPTION_BUDGET: Final = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    singular="poddisruptionbudget",
    namespaced=True,
    short_names=("pdb",),
    schema="policy.v1.PodDisruptionBudget",
    strategy=PodDisruptionBudgetStrategy(),
    unconditional_update=False,
    subresources=(
        Subresource(name="status", verbs=("get", "patch", "update"), update=PodDisruptionBudgetStatusStrategy()),
    ),
)
