"""What controllers read of a Job."""

from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, OwnerView, identity, revision

OWN_CONTROLLER: Final = "kubernetes.io/job-controller"


class Uncounted(KubeStruct, frozen=True, kw_only=True):
    """Pods that ended and are not in the counters yet; they keep their finalizer until they are noted here."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(KubeStruct, frozen=True, kw_only=True):
    """What the controller has reported."""

    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    uncounted_terminated_pods: Uncounted | None = None
    completed_indexes: str = ""
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[dict[str, Any], ...] = ()

    @property
    def uncounted(self) -> Uncounted:
        """The pods noted but not counted."""
        return self.uncounted_terminated_pods or Uncounted()


class JobView(OwnerView, frozen=True, kw_only=True, gc=False):
    """A Job; its template is kept as JSON."""

    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    indexed: bool = False
    only_replace_failed: bool = False
    managed_by: str = OWN_CONTROLLER
    unsupported: tuple[str, ...] = ()
    """The fields it uses that flexlet does not know how to honour."""
    template: bytes = b"{}"
    restart_policy: str = "Never"
    status: JobStatus = JobStatus()


class _TemplateSpec(KubeStruct, frozen=True, kw_only=True):
    restart_policy: str = "Never"


class _Template(KubeStruct, frozen=True, kw_only=True):
    spec: _TemplateSpec = _TemplateSpec()


class _Spec(KubeStruct, frozen=True, kw_only=True):
    parallelism: int | None = 1
    completions: int | None = None
    backoff_limit: int | None = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = False
    completion_mode: str | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    pod_failure_policy: msgspec.Raw = shared.ABSENT
    success_policy: msgspec.Raw = shared.ABSENT
    backoff_limit_per_index: int | None = None
    selector: msgspec.Raw = shared.ABSENT
    template: msgspec.Raw = msgspec.Raw(b"{}")


class _Job(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: JobStatus = JobStatus()


_decoder: Final = msgspec.json.Decoder(_Job)
_template_decoder: Final = msgspec.json.Decoder(_Template)


def view(raw: bytes) -> tuple[JobView, int]:
    """The Job's view and revision."""
    found = _decoder.decode(raw)
    meta, spec = found.metadata, found.spec
    template = shared.template(bytes(spec.template))
    seen = JobView(
        **identity(meta),
        generation=meta.generation,
        parallelism=1 if spec.parallelism is None else spec.parallelism,
        completions=spec.completions,
        backoff_limit=6 if spec.backoff_limit is None else spec.backoff_limit,
        active_deadline_seconds=spec.active_deadline_seconds,
        ttl_seconds_after_finished=spec.ttl_seconds_after_finished,
        suspend=bool(spec.suspend),
        indexed=spec.completion_mode == "Indexed",
        only_replace_failed=spec.pod_replacement_policy == "Failed",
        managed_by=spec.managed_by or OWN_CONTROLLER,
        unsupported=_unsupported(spec),
        selector=shared.selector(bytes(spec.selector)),
        template=template,
        restart_policy=_template_decoder.decode(template).spec.restart_policy,
        status=found.status,
    )
    return seen, revision(meta.resource_version)


def _unsupported(spec: _Spec) -> tuple[str, ...]:
    present = {
        "podFailurePolicy": bytes(spec.pod_failure_policy) not in {b"", b"null"},
        "successPolicy": bytes(spec.success_policy) not in {b"", b"null"},
        "backoffLimitPerIndex": spec.backoff_limit_per_index is not None,
    }
    return tuple(name for name, used in present.items() if used)
