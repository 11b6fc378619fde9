"""DaemonSets. The generation of the template lives in an annotation, as it did in the first API version."""

from typing import Any, Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, workload
from flexlet.apiserver.kinds.amounts import (
    check_counts,
    check_not_above_all,
    check_not_decremented,
    check_share,
    is_nothing,
)
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.strategy import StatusStrategy, age_of, name_of

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_COUNTS: Final = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
)


class DaemonSetStrategy(workload.WorkloadStrategy):
    """The main path."""

    type_name = "apps.v1.DaemonSet"

    def fill(self, obj: Object) -> None:
        """Pods are replaced one by one."""
        super().fill(obj)
        strategy = obj["spec"]["updateStrategy"]
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        obj["spec"].setdefault("revisionHistoryLimit", 10)

    def prepare_create(self, obj: Object) -> None:
        """The template is the first one."""
        super().prepare_create(obj)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(self, obj: Object, old: Object) -> None:
        """A new template is counted, whatever the client says."""
        super().prepare_update(obj, old)
        changed = not same(obj["spec"]["template"], old["spec"]["template"])
        _set_template_generation(obj, _template_generation(old) + changed)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Metadata, a selector that stays, and the spec."""
        return [
            *metadata.validate_update(obj, old),
            *workload.check_selector_kept(obj, old),
            *self.check(obj),
        ]

    def check(self, obj: Object) -> list[FieldError]:
        """Selector, template, and how to replace pods."""
        spec = obj["spec"]
        errors: list[FieldError] = []
        validate_label_selector(spec.get("selector"), "spec.selector", errors)
        selector = workload.compiled(spec)
        if selector is not None:
            errors += workload.check_match(selector, spec)
        if spec.get("selector") == {}:
            errors.append(fielderrors.invalid("spec.selector", {}, "empty selector is invalid for daemonset"))
        errors += workload.check_running_template(spec, self.gates, "DaemonSet")
        errors += check_counts(spec, ("minReadySeconds",), "spec")
        errors += _check_strategy(spec["updateStrategy"])
        return errors + check_counts(spec, ("revisionHistoryLimit",), "spec")

    def warnings(self, obj: Object) -> list[str]:
        """Only of the template: pods get names of their own."""
        return workload.template_warnings(obj)

    def cells(self, obj: Object, now: float) -> list[Any]:
        """On how many nodes, in what state."""
        status = obj["status"]
        node_selector = obj["spec"]["template"].get("spec", {}).get("nodeSelector", {})
        return [
            name_of(obj),
            status.get("desiredNumberScheduled", 0),
            status.get("currentNumberScheduled", 0),
            status.get("numberReady", 0),
            status.get("updatedNumberScheduled", 0),
            status.get("numberAvailable", 0),
            ",".join(f"{key}={node_selector[key]}" for key in sorted(node_selector)) or "<none>",
            age_of(obj, now),
            *workload.wide_cells(obj, workload.selector_text(obj)),
        ]


class DaemonSetStatusStrategy(StatusStrategy):
    """``/status``: the controller's path."""

    def prepare_update(self, obj: Object, old: Object) -> None:
        """The template's generation belongs to the spec."""
        super().prepare_update(obj, old)
        _set_template_generation(obj, _template_generation(old))

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Counts; the collision counter only grows."""
        status = obj["status"]
        before = old.get("status", {}).get("collisionCount")
        errors = check_counts(status, _COUNTS, "status")
        return errors + check_not_decremented(status.get("collisionCount"), before, "status.collisionCount")


def _template_generation(obj: Object) -> int:
    text = obj["metadata"].get("annotations", {}).get(TEMPLATE_GENERATION, "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def _set_template_generation(obj: Object, generation: int) -> None:
    annotations = obj["metadata"].get("annotations", {})
    obj["metadata"]["annotations"] = {**annotations, TEMPLATE_GENERATION: str(generation)}


def _check_strategy(strategy: Object) -> list[FieldError]:
    field, kind, rolling = "spec.updateStrategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return []
    if kind == "RollingUpdate":
        return _check_rolling(rolling or {}, f"{field}.rollingUpdate")
    shown = {"Type": kind, "RollingUpdate": rolling}
    return [fielderrors.not_supported(field, shown, ("RollingUpdate", "OnDelete"))]


def _check_rolling(rolling: Object, field: str) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    both = (("maxUnavailable", unavailable), ("maxSurge", surge))
    errors = [error for key, value in both for error in check_share(value, f"{field}.{key}")]
    errors += [error for key, value in both for error in check_not_above_all(value, f"{field}.{key}")]
    if is_nothing(unavailable) and is_nothing(surge):
        errors.append(fielderrors.required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    elif not is_nothing(unavailable) and not is_nothing(surge):
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(fielderrors.invalid(f"{field}.maxSurge", surge, text))
    return errors


def daemon_set_kind(gates: workload.Gates) -> Kind:
    """DaemonSets under a set of feature gates."""
    return Kind(
        group="apps",
        version="v1",
        kind="DaemonSet",
        plural="daemonsets",
        singular="daemonset",
        namespaced=True,
        short_names=("ds",),
        categories=("all",),
        schema="apps.v1.DaemonSet",
        strategy=DaemonSetStrategy(gates),
        subresources=(
            Subresource(name="status", verbs=("get", "patch", "update"), update=DaemonSetStatusStrategy()),
        ),
    )
