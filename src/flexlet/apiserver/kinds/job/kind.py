"""The Job kind: the server gives each job labels and a selector of its own."""

from typing import Any, Final

from flexlet.api import age, fielderrors, names
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, Object, Subresource
from flexlet.apiserver.kinds import metadata, workload
from flexlet.apiserver.kinds.conditions import is_true
from flexlet.apiserver.kinds.job.spec import INDEXED, check_spec, check_spec_change
from flexlet.apiserver.kinds.job.status import check_status_change
from flexlet.apiserver.kinds.strategy import StatusStrategy, age_of, name_of

JOB_NAME: Final = "batch.kubernetes.io/job-name"
CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_OLD_JOB_NAME: Final = "job-name"
_OLD_CONTROLLER_UID: Final = "controller-uid"
_UNLIMITED: Final = 2**31 - 1
_MANY_COMPLETIONS: Final = 100_000
_MUCH_PARALLELISM: Final = 10_000
_STATES: Final = ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")


class JobStrategy(workload.WorkloadStrategy):
    """The main path."""

    type_name = "batch.v1.Job"

    def fill(self, obj: Object) -> None:
        """One pod, six retries, and a selector made by the server."""
        super().fill(obj)
        spec = obj["spec"]
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", _UNLIMITED if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
        for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                pattern["status"] = pattern.get("status") or "True"
        _label_like_template(obj)

    def prepare_create(self, obj: Object) -> None:
        """The job's pods are found by its uid."""
        super().prepare_create(obj)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)
        _label_like_template(obj)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """The rules of a new job, then what may not change."""
        labels = old["spec"]["template"].get("metadata", {}).get("labels", {})
        prefixed = JOB_NAME in labels and CONTROLLER_UID in labels
        return [
            *self._validate(obj, prefixed=prefixed),
            *metadata.validate_update(obj, old),
            *check_spec(obj["spec"], self.gates),
            *check_spec_change(obj["spec"], old),
        ]

    def validate(self, obj: Object) -> list[FieldError]:
        """Metadata, selector, spec, and names that indexed pods can have."""
        return self._validate(obj, prefixed=True)

    def _validate(self, obj: Object, *, prefixed: bool) -> list[FieldError]:
        return [
            *metadata.validate(obj, names.dns1123_subdomain),
            *_check_generated_selector(obj, prefixed=prefixed),
            *check_spec(obj["spec"], self.gates),
            *_check_pod_names(obj),
        ]

    def warnings(self, obj: Object) -> list[str]:
        """Names, sizes that cannot be tracked, and the template's own."""
        return [
            *workload.name_warnings(obj),
            *_size_warnings(obj["spec"]),
            *workload.template_warnings(obj),
        ]

    def fields(self, obj: Object) -> dict[str, str]:
        """Found by the number of pods that succeeded."""
        return {"status.successful": str(obj.get("status", {}).get("succeeded", 0))}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """State, progress, how long it takes."""
        return [
            name_of(obj),
            _state(obj),
            _progress(obj),
            _duration(obj["status"], now),
            age_of(obj, now),
            *workload.wide_cells(obj, workload.selector_text(obj)),
        ]


class JobStatusStrategy(StatusStrategy):
    """``/status``: the controller's path."""

    def check_update(self, obj: Object, old: Object) -> list[FieldError]:
        """Counters, conditions and times that fit each other."""
        return check_status_change(obj, old)


def _generate_selector(job: Object) -> None:
    name, uid = name_of(job), job["metadata"].get("uid", "")
    labels = job["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {})
    generated = {_OLD_JOB_NAME: name, JOB_NAME: name, _OLD_CONTROLLER_UID: uid, CONTROLLER_UID: uid}
    for key, value in generated.items():
        labels.setdefault(key, value)
    selector = job["spec"].setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, uid)


def _label_like_template(job: Object) -> None:
    """A job without labels has those of its pods."""
    labels = job["spec"]["template"].get("metadata", {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)


def _check_generated_selector(job: Object, *, prefixed: bool) -> list[FieldError]:
    spec, uid, name = job["spec"], job["metadata"].get("uid", ""), name_of(job)
    if spec.get("manualSelector") or "selector" not in spec:
        return []
    errors = [] if uid else [fielderrors.required("metadata.uid")]
    expected = {_OLD_CONTROLLER_UID: uid, _OLD_JOB_NAME: name}
    if prefixed:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    labels = spec["template"].get("metadata", {}).get("labels", {})
    for key, value in expected.items():
        field, text = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            errors.append(fielderrors.required(field, text))
        elif labels[key] != value:
            errors.append(fielderrors.invalid(field, labels, text))
    selector = workload.compiled(spec)
    if selector is not None and not selector.matches(expected):
        errors.append(fielderrors.invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def _check_pod_names(job: Object) -> list[FieldError]:
    """Indexed pods have host names made of the job's name and the index."""
    completions = job["spec"].get("completions") or 0
    if job["spec"].get("completionMode") != INDEXED or completions <= 0:
        return []
    longest = f"{name_of(job)}-{completions - 1}"
    if not names.dns1123_label(longest):
        return []
    text = f"will not able to create pod with invalid DNS label: {longest}"
    return [fielderrors.invalid("metadata.name", name_of(job), text)]


def _size_warnings(spec: Object) -> list[str]:
    many = spec.get("completions", 0) > _MANY_COMPLETIONS and spec.get("parallelism", 0) > _MUCH_PARALLELISM
    if spec.get("completionMode") != INDEXED or not many:
        return []
    text = (
        "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
    )
    return [f"spec: {text}"]


def _state(job: Object) -> str:
    state = next((state for state in _STATES if is_true(job, state)), "Running")
    going = job["metadata"].get("deletionTimestamp") and state not in {"Complete", "Failed"}
    return "Terminating" if going else state


def _progress(job: Object) -> str:
    spec, succeeded = job["spec"], job["status"].get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: Object, now: float) -> str:
    begun, ended = status.get("startTime"), status.get("completionTime")
    if not begun:
        return ""
    return age.since(begun, age.parse(ended).timestamp() if ended else now)


def job_kind(gates: workload.Gates) -> Kind:
    """Jobs under a set of feature gates."""
    return Kind(
        group="batch",
        version="v1",
        kind="Job",
        plural="jobs",
        singular="job",
        namespaced=True,
        categories=("all",),
        schema="batch.v1.Job",
        strategy=JobStrategy(gates),
        subresources=(Subresource(name="status", verbs=("get", "patch", "update"), update=JobStatusStrategy()),),
    )
