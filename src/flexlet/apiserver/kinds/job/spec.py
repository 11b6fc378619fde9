"""What a Job's spec may say, and what of it may change.

Almost nothing may change: parallelism, suspension, deadlines; the template only while a job is suspended and has
no pods, and then only where pods go and what they get.
"""

import copy
from typing import Any, Final

from flexlet.api import fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import template, workload
from flexlet.apiserver.kinds.amounts import check_counts
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.kinds.job import policies
from flexlet.apiserver.kinds.labelselector import validate_label_selector
from flexlet.apiserver.kinds.pod import internalform
from flexlet.apiserver.kinds.pod.equality import same

MAX_INDEXED_PARALLELISM: Final = 100_000
MAX_FAILED_INDEXES: Final = 100_000
MANY_COMPLETIONS: Final = 100_000
LIMIT_OF_MANY: Final = 10_000
MAX_MANAGED_BY: Final = 63
INDEXED: Final = "Indexed"
_MODES: Final = ("NonIndexed", INDEXED)
_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_FOR_GOOD: Final = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_RESTART: Final = "spec.template.spec.restartPolicy"


def check_spec(spec: Object, gates: workload.Gates) -> list[FieldError]:
    """What is wrong with a spec."""
    errors = check_counts(spec, _COUNTS, "spec")
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(fielderrors.required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    errors += _check_manager(spec.get("managedBy"))
    errors += _check_mode(spec)
    errors += _check_policies(spec)
    errors += template.validate_template(spec["template"], workload.TEMPLATE, gates)
    errors += _check_restart_policy(spec)
    return errors + _check_selector(spec)


def _check_manager(manager: str | None) -> list[FieldError]:
    if manager is None:
        return []
    complaints = names.domain_prefixed_path(manager) if manager else []
    errors = [fielderrors.invalid("spec.managedBy", manager, complaint) for complaint in complaints]
    if not manager:
        errors.append(fielderrors.required("spec.managedBy"))
    if len(manager) > MAX_MANAGED_BY:
        errors.append(fielderrors.too_long("spec.managedBy", MAX_MANAGED_BY))
    return errors


def _check_mode(spec: Object) -> list[FieldError]:
    mode = spec.get("completionMode", _MODES[0])
    if mode == INDEXED:
        return _check_indexed(spec)
    errors = [] if mode in _MODES else [fielderrors.not_supported("spec.completionMode", mode, _MODES)]
    if mode == _MODES[0]:
        errors += [
            fielderrors.invalid(f"spec.{key}", spec[key], "requires indexed completion mode")
            for key in ("backoffLimitPerIndex", "maxFailedIndexes")
            if key in spec
        ]
    return errors


def _check_indexed(spec: Object) -> list[FieldError]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes", 0)
    errors = []
    if completions is None:
        errors.append(fielderrors.required("spec.completions", f"when completion mode is {INDEXED}"))
    if spec.get("parallelism", 0) > MAX_INDEXED_PARALLELISM:
        text = f"must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is {INDEXED}"
        errors.append(fielderrors.invalid("spec.parallelism", spec["parallelism"], text))
    if completions is not None and failed > completions:
        text = "must be less than or equal to completions"
        errors.append(fielderrors.invalid("spec.maxFailedIndexes", failed, text))
    if failed > MAX_FAILED_INDEXES:
        text = f"must be less than or equal to {MAX_FAILED_INDEXES}"
        errors.append(fielderrors.invalid("spec.maxFailedIndexes", failed, text))
    if (completions or 0) > MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        errors += _check_many(spec)
    return errors


def _check_many(spec: Object) -> list[FieldError]:
    errors = []
    if "maxFailedIndexes" not in spec:
        text = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.append(fielderrors.required("spec.maxFailedIndexes", text))
    text = (
        f"must be less than or equal to {LIMIT_OF_MANY} when completions are above {MANY_COMPLETIONS} and used "
        "with backoff limit per index"
    )
    return errors + [
        fielderrors.invalid(f"spec.{key}", spec[key], text)
        for key in ("parallelism", "maxFailedIndexes")
        if spec.get(key, 0) > LIMIT_OF_MANY
    ]


def _check_policies(spec: Object) -> list[FieldError]:
    errors = []
    if "podFailurePolicy" in spec:
        errors += policies.check_failure_policy(spec, "spec.podFailurePolicy")
    if "successPolicy" in spec:
        if spec.get("completionMode") != INDEXED:
            text = "requires indexed completion mode"
            errors.append(fielderrors.invalid("spec.successPolicy", _success_policy(spec), text))
        else:
            errors += policies.check_success_policy(spec, "spec.successPolicy")
    return errors + policies.check_replacement_policy(spec, "spec.podReplacementPolicy")


def _success_policy(spec: Object) -> Object:
    """The policy as upstream's internal form prints it."""
    rules = spec["successPolicy"].get("rules") or []
    keys = (("SucceededIndexes", "succeededIndexes"), ("SucceededCount", "succeededCount"))
    return {"Rules": [{go: rule.get(name) for go, name in keys} for rule in rules]}


def _check_restart_policy(spec: Object) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in {"", "Always"}:
        return [fielderrors.required(_RESTART, 'valid values: "OnFailure", "Never"')]
    if policy not in {"OnFailure", "Never"}:
        return [fielderrors.not_supported(_RESTART, policy, ("OnFailure", "Never"))]
    if "podFailurePolicy" in spec and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        return [fielderrors.invalid(_RESTART, policy, text)]
    return []


def _check_selector(spec: Object) -> list[FieldError]:
    if "selector" not in spec:
        errors = [fielderrors.required("spec.selector")]
    else:
        errors = []
        validate_label_selector(spec["selector"], "spec.selector", errors)
    selector = workload.compiled(spec)
    return errors if selector is None else errors + workload.check_match(selector, spec)


def check_spec_change(spec: Object, old: Object) -> list[FieldError]:
    """What may not change; `old` is the whole stored job."""
    before = old["spec"]
    errors = _check_completions(spec, before)
    errors += _immutable(spec.get("selector"), before.get("selector"), "spec.selector")
    errors += _check_template_kept(spec["template"], old)
    for key in _FOR_GOOD:
        errors += _immutable(spec.get(key), before.get(key), f"spec.{key}")
    return errors


def _check_completions(spec: Object, before: Object) -> list[FieldError]:
    completions = spec.get("completions")
    if spec.get("completionMode") != INDEXED:
        return _immutable(completions, before.get("completions"), "spec.completions")
    if completions in {None, before.get("completions"), spec.get("parallelism")}:
        return []
    text = "can only be modified in tandem with spec.parallelism"
    return [fielderrors.invalid("spec.completions", completions, text)]


def _check_template_kept(wanted: Object, old: Object) -> list[FieldError]:
    stored = old["spec"]["template"]
    if _is_idle(old):
        stored = copy.deepcopy(stored)
        _let_scheduling_change(stored, wanted)
        _let_resources_change(stored["spec"], wanted["spec"])
        if same(wanted["spec"], stored["spec"]):
            return []
        shown = internalform.internal(wanted["spec"], "PodSpec")
        return [fielderrors.invalid("spec.template.spec", shown, "field is immutable")]
    if same(wanted, stored):
        return []
    shown = {**wanted.get("metadata", {}), "Spec": internalform.internal(wanted["spec"], "PodSpec")}
    return [fielderrors.invalid("spec.template", shown, "field is immutable")]


def _is_idle(job: Object) -> bool:
    """Suspended, and either never started or known to have no pods left."""
    status = job.get("status", {})
    stopped = "startTime" not in status or is_true(job, "Suspended")
    return bool(job["spec"].get("suspend")) and stopped and not status.get("active")


def _let_scheduling_change(stored: Object, wanted: Object) -> None:
    """Take over from `wanted` what decides where pods go."""
    for key in ("labels", "annotations"):
        _take(stored.setdefault("metadata", {}), wanted.get("metadata", {}), key)
    for key in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(stored["spec"], wanted["spec"], key)
    affinity = stored["spec"].get("affinity", {})
    _take(affinity, wanted["spec"].get("affinity", {}), "nodeAffinity")
    _take(stored["spec"], {"affinity": affinity} if affinity else {}, "affinity")


def _let_resources_change(stored: Object, wanted: Object) -> None:
    """Take over from `wanted` what containers of the same name get."""
    for key in ("containers", "initContainers"):
        pairs = list(zip(stored.get(key) or (), wanted.get(key) or (), strict=False))
        for container, other in pairs:
            if container.get("name") == other.get("name"):
                _take(container, other, "resources")


def _take(stored: Object, wanted: Object, key: str) -> None:
    if key in wanted:
        stored[key] = wanted[key]
    else:
        stored.pop(key, None)


def _immutable(value: Any, old: Any, field: str) -> list[FieldError]:
    return [] if value == old else [fielderrors.invalid(field, value, "field is immutable")]
