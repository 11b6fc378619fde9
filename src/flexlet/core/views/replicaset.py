"""What controllers read of a ReplicaSet."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, OwnerView, identity, revision


class ReplicaSetStatus(KubeStruct, frozen=True, kw_only=True):
    """What the controller has reported."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[dict[str, Any], ...] = ()


class ReplicaSetView(OwnerView, frozen=True, kw_only=True, gc=False):
    """A ReplicaSet; its template is kept as JSON."""

    created: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    replicas: int = 1
    min_ready_seconds: int = 0
    template: bytes = b"{}"
    template_labels: dict[str, str] = msgspec.field(default_factory=dict)
    status: ReplicaSetStatus = ReplicaSetStatus()


class _TemplateMeta(msgspec.Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Template(msgspec.Struct, frozen=True):
    metadata: _TemplateMeta | None = None


class _Spec(KubeStruct, frozen=True, kw_only=True):
    replicas: int | None = 1
    min_ready_seconds: int = 0
    selector: msgspec.Raw = shared.ABSENT
    template: msgspec.Raw = msgspec.Raw(b"{}")


class _ReplicaSet(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: ReplicaSetStatus = ReplicaSetStatus()


_decoder: Final = msgspec.json.Decoder(_ReplicaSet)
_template_decoder: Final = msgspec.json.Decoder(_Template)


def view(raw: bytes) -> tuple[ReplicaSetView, int]:
    """The ReplicaSet's view and revision."""
    found = _decoder.decode(raw)
    meta, spec, template = found.metadata, found.spec, shared.template(bytes(found.spec.template))
    seen = ReplicaSetView(
        **identity(meta),
        generation=meta.generation,
        created=meta.creation_timestamp or "",
        labels=shared.labels(bytes(meta.labels)),
        annotations=shared.annotations(bytes(meta.annotations)),
        replicas=1 if spec.replicas is None else spec.replicas,
        min_ready_seconds=spec.min_ready_seconds,
        selector=shared.selector(bytes(spec.selector)),
        template=template,
        template_labels=template_labels(template),
        status=found.status,
    )
    return seen, revision(meta.resource_version)


@lru_cache(maxsize=1024)
def template_labels(template: bytes) -> dict[str, str]:
    """The labels that pods of the template get."""
    described = _template_decoder.decode(template).metadata
    return (described.labels if described else None) or {}
