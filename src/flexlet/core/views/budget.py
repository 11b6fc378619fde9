"""What controllers read of a PodDisruptionBudget."""

from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.api.selectors import NOTHING, LabelSelector
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, ObjectView, identity, revision


class BudgetStatus(KubeStruct, frozen=True, kw_only=True):
    """What the controller has reported, and which pods evictions have announced."""

    observed_generation: int = 0
    disrupted_pods: dict[str, str] = msgspec.field(default_factory=dict)
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[dict[str, Any], ...] = ()


class BudgetView(ObjectView, frozen=True, kw_only=True, gc=False):
    """A budget; evictions write its status too, so every write is bound to one version."""

    resource_version: str = ""
    generation: int = 0
    selector: LabelSelector = NOTHING
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    status: BudgetStatus = BudgetStatus()


class _Spec(KubeStruct, frozen=True, kw_only=True):
    selector: msgspec.Raw = shared.ABSENT
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class _Budget(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: BudgetStatus = BudgetStatus()


_decoder: Final = msgspec.json.Decoder(_Budget)


def view(raw: bytes) -> tuple[BudgetView, int]:
    """The budget's view and revision."""
    found = _decoder.decode(raw)
    meta, spec = found.metadata, found.spec
    seen = BudgetView(
        **identity(meta),
        resource_version=meta.resource_version,
        generation=meta.generation,
        selector=shared.selector(bytes(spec.selector)),
        min_available=spec.min_available,
        max_unavailable=spec.max_unavailable,
        status=found.status,
    )
    return seen, revision(meta.resource_version)
