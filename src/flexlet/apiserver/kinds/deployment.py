"""Deployments: generation counts changes of spec and of annotations."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, workload
from flexlet.apiserver.kinds.amounts import (
    check_count,
    check_counts,
    check_not_above_all,
    check_not_decremented,
    check_share,
    is_nothing,
)
from flexlet.apiserver.kinds.replicaset import SCALE, check_above
from flexlet.apiserver.kinds.strategy import StatusStrategy, age_of, keep, name_of

_COUNTS: Final = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
)


class DeploymentStrategy(workload.WorkloadStrategy):
    """The main path."""

    type_name = "apps.v1.Deployment"

    def fill(self, obj: Object) -> None:
        """One replica, replaced a quarter at a time."""
        super().fill(obj)
        spec, strategy = obj["spec"], obj["spec"]["strategy"]
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def is_changed(self, obj: Object, old: Object) -> bool:
        """Annotations count as well: rollbacks were once asked for there."""
        now, before = (entry["metadata"].get("annotations") for entry in (obj, old))
        return now != before or super().is_changed(obj, old)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, the spec, and a selector that stays."""
        return [
            *metadata.validate_update(obj, old),
            *self.check(obj),
            *workload.check_selector_kept(obj, old),
        ]

    def check(self, obj: Object) -> list[FieldError]:
        """Counts, selector, template, and how to roll out."""
        spec = obj["spec"]
        errors = check_count(spec.get("replicas"), "spec.replicas")
        errors += workload.check_replicated(spec, self.gates)
        errors += _check_strategy(spec["strategy"])
        errors += check_counts(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec")
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None:
            errors += check_count(deadline, "spec.progressDeadlineSeconds")
            if deadline <= spec.get("minReadySeconds", 0):
                text = "must be greater than minReadySeconds"
                errors.append(fielderrors.invalid("spec.progressDeadlineSeconds", deadline, text))
        return errors

    def cells(self, obj: Object, now: float) -> list[Any]:
        """How many are ready, current, available."""
        status, selector = obj["status"], workload.compiled(obj["spec"])
        shown = "<invalid>" if selector is None else str(selector)
        return [
            name_of(obj),
            f"{status.get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}",
            status.get("updatedReplicas", 0),
            status.get("availableReplicas", 0),
            age_of(obj, now),
            *workload.wide_cells(obj, shown),
        ]


class DeploymentStatusStrategy(StatusStrategy):
    """``/status``: the controller's path; labels stay, too."""

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Neither spec nor labels change here."""
        keep(obj, old, "spec")
        keep(obj["metadata"], old["metadata"], "labels")

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Counts that fit each other; the collision counter only grows."""
        status = obj["status"]
        errors = check_counts(status, _COUNTS, "status")
        errors += check_above(status, "updatedReplicas")
        before = old.get("status", {}).get("collisionCount")
        return errors + check_not_decremented(status.get("collisionCount"), before, "status.collisionCount")


def _check_strategy(strategy: Object) -> list[FieldError]:
    field, kind, rolling = "spec.strategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [fielderrors.forbidden(f"{field}.rollingUpdate", text)]
    if kind == "RollingUpdate":
        return _check_rolling(rolling or {}, f"{field}.rollingUpdate")
    shown = {"Type": kind, "RollingUpdate": rolling}
    return [fielderrors.not_supported(field, shown, ("Recreate", "RollingUpdate"))]


def _check_rolling(rolling: Object, field: str) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = check_share(unavailable, f"{field}.maxUnavailable")
    errors += check_share(surge, f"{field}.maxSurge")
    if is_nothing(unavailable) and is_nothing(surge):
        text = "may not be 0 when `maxSurge` is 0"
        errors.append(fielderrors.invalid(f"{field}.maxUnavailable", unavailable, text))
    return errors + check_not_above_all(unavailable, f"{field}.maxUnavailable")


def deployment_kind(gates: workload.Gates) -> Kind:
    """Deployments under a set of feature gates."""
    return Kind(
        group="apps",
        version="v1",
        kind="Deployment",
        plural="deployments",
        singular="deployment",
        namespaced=True,
        short_names=("deploy",),
        categories=("all",),
        schema="apps.v1.Deployment",
        strategy=DeploymentStrategy(gates),
        subresources=(
            SCALE,
            Subresource(name="status", verbs=("get", "patch", "update"), update=DeploymentStatusStrategy()),
        ),
    )
