"""What controllers read of a DaemonSet."""

from typing import Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, OwnerView, identity, revision


class DaemonSetStatus(KubeStruct, frozen=True, kw_only=True):
    """What the controller has reported."""

    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0


class RollingUpdate(KubeStruct, frozen=True, kw_only=True):
    """How many nodes may be without their pod, or have two, during an update."""

    max_surge: int | str = 0
    max_unavailable: int | str = 1


class UpdateStrategy(KubeStruct, frozen=True, kw_only=True):
    """How pods of an old template are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DaemonSetView(OwnerView, frozen=True, kw_only=True, gc=False):
    """A DaemonSet; its template is kept as JSON."""

    template_generation: str = ""
    min_ready_seconds: int = 0
    update_strategy: UpdateStrategy = UpdateStrategy()
    template: bytes = b"{}"
    status: DaemonSetStatus = DaemonSetStatus()


class _Spec(KubeStruct, frozen=True, kw_only=True):
    min_ready_seconds: int = 0
    update_strategy: UpdateStrategy = UpdateStrategy()
    selector: msgspec.Raw = shared.ABSENT
    template: msgspec.Raw = msgspec.Raw(b"{}")


class _DaemonSet(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: DaemonSetStatus = DaemonSetStatus()


_decoder: Final = msgspec.json.Decoder(_DaemonSet)
_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"


def view(raw: bytes) -> tuple[DaemonSetView, int]:
    """The DaemonSet's view and revision."""
    found = _decoder.decode(raw)
    meta, spec = found.metadata, found.spec
    template_generation = shared.annotations(bytes(meta.annotations)).get(_TEMPLATE_GENERATION, "")
    seen = DaemonSetView(
        **identity(meta),
        generation=meta.generation,
        template_generation=template_generation if template_generation.isdecimal() else "",
        min_ready_seconds=spec.min_ready_seconds,
        update_strategy=spec.update_strategy,
        selector=shared.selector(bytes(spec.selector)),
        template=shared.template(bytes(spec.template)),
        status=found.status,
    )
    return seen, revision(meta.resource_version)
