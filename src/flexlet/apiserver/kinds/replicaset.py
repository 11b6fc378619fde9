"""ReplicaSets."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, workload
from flexlet.apiserver.kinds.amounts import check_counts
from flexlet.apiserver.kinds.strategy import StatusStrategy, age_of, name_of

SCALE: Final = Subresource(
    name="scale", verbs=("get", "patch", "update"), group="autoscaling", version="v1", kind="Scale"
)
_COUNTS: Final = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    *("observedGeneration", "terminatingReplicas"),
)


class ReplicaSetStrategy(workload.WorkloadStrategy):
    """The main path."""

    type_name = "apps.v1.ReplicaSet"

    def fill(self, obj: Object) -> None:
        """One replica."""
        super().fill(obj)
        obj["spec"].setdefault("replicas", 1)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, the spec, and a selector that stays."""
        return [
            *metadata.validate_update(obj, old),
            *self.check(obj),
            *workload.check_selector_kept(obj, old),
        ]

    def check(self, obj: Object) -> list[FieldError]:
        """Counts, selector, template."""
        errors = check_counts(obj["spec"], ("replicas", "minReadySeconds"), "spec")
        return errors + workload.check_replicated(obj["spec"], self.gates)

    def fields(self, obj: Object) -> dict[str, str]:
        """Found by the number of pods."""
        return {"status.replicas": str(obj.get("status", {}).get("replicas", 0))}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """How many are wanted, there, ready."""
        status = obj["status"]
        return [
            name_of(obj),
            obj["spec"].get("replicas", 0),
            status.get("replicas", 0),
            status.get("readyReplicas", 0),
            age_of(obj, now),
            *workload.wide_cells(obj, workload.selector_text(obj)),
        ]


class ReplicaSetStatusStrategy(StatusStrategy):
    """``/status``: the controller's path."""

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Counts that fit each other."""
        del old
        errors = check_counts(obj["status"], _COUNTS, "status")
        return errors + check_above(obj["status"], "fullyLabeledReplicas")


def check_above(status: Object, first: str) -> list[FieldError]:
    """No part is larger than the whole, and what is available is ready."""
    replicas, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    text = "cannot be greater than status.replicas"
    errors = [
        fielderrors.invalid(f"status.{key}", status.get(key, 0), text)
        for key in (first, "readyReplicas", "availableReplicas")
        if status.get(key, 0) > replicas
    ]
    if available > status.get("readyReplicas", 0):
        text = "cannot be greater than readyReplicas"
        errors.append(fielderrors.invalid("status.availableReplicas", available, text))
    return errors


def replica_set_kind(gates: workload.Gates) -> Kind:
    """ReplicaSets under a set of feature gates."""
    return Kind(
        group="apps",
        version="v1",
        kind="ReplicaSet",
        plural="replicasets",
        singular="replicaset",
        namespaced=True,
        short_names=("rs",),
        categories=("all",),
        schema="apps.v1.ReplicaSet",
        strategy=ReplicaSetStrategy(gates),
        subresources=(
            SCALE,
            Subresource(name="status", verbs=("get", "patch", "update"), update=ReplicaSetStatusStrategy()),
        ),
    )
