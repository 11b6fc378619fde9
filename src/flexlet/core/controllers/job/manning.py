"""Which pods a Job lacks and which it has too many, and what new ones look like."""

from collections.abc import Sequence
from typing import Any, Final

from flexlet.core.controllers import removal, templates
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.job import indexes
from flexlet.core.controllers.job.accounts import Accounts
from flexlet.core.controllers.job.gang import FINALIZER, Gang
from flexlet.core.views.job import JobView
from flexlet.core.views.pod import PodView

CONTROLLER: Final = Controller("batch/v1", "Job")
INDEX: Final = "batch.kubernetes.io/job-completion-index"
_ENVIRONMENT: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58


def wanted(job: JobView, active: int, accounts: Accounts) -> int:
    """How many pods should run now."""
    if job.completions is None:
        return active if accounts.succeeded else job.parallelism
    return max(0, min(job.completions - accounts.succeeded, job.parallelism))


def surplus(job: JobView, active: Sequence[PodView], count: int, now: float) -> list[PodView]:
    """Pods to delete: for an indexed Job first those whose index is taken or not one of its own."""
    doomed: list[PodView] = []
    if job.indexed:
        kept: set[int] = set()
        for pod in sorted(active, key=lambda pod: (pod.completion_index, not pod.ready, pod.created)):
            if pod.completion_index in kept or not 0 <= pod.completion_index < (job.completions or 0):
                doomed.append(pod)
            kept.add(pod.completion_index)
    left = [pod for pod in active if pod not in doomed]
    return doomed + removal.first_to_go(left, max(0, count - len(doomed)), now)


def bodies(job: JobView, gang: Gang, accounts: Accounts, count: int) -> list[dict[str, Any]]:
    """New pods; those of an indexed Job take the lowest indexes that are free."""
    if not job.indexed:
        return [_body(job) for _ in range(count)]
    holders = gang.active() + (gang.terminating() if job.only_replace_failed else [])
    taken = {pod.completion_index for pod in holders} | accounts.completed
    free = indexes.first_missing(taken, count, job.completions or 0)
    return [_indexed_body(job, index) for index in free]


def _body(job: JobView) -> dict[str, Any]:
    pod = templates.pod_body(job.template, CONTROLLER, job)
    finalizers = pod["metadata"].setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    return pod


def _indexed_body(job: JobView, index: int) -> dict[str, Any]:
    pod = _body(job)
    suffix = f"-{index}-"
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["generateName"] = job.name[: _LONGEST_PREFIX - len(suffix)] + suffix
    metadata.setdefault("annotations", {})[INDEX] = str(index)
    metadata.setdefault("labels", {})[INDEX] = str(index)
    spec["hostname"] = f"{job.name}-{index}"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        environment = container.setdefault("env", [])
        if not any(variable.get("name") == _ENVIRONMENT for variable in environment):
            environment.append({"name": _ENVIRONMENT, "valueFrom": source})
    return pod
