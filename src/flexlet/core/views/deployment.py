"""What controllers read of a Deployment."""

from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, OwnerView, identity, revision

FOREVER: Final = 2**31 - 1
"""As a deadline or a limit: none."""


class DeploymentStatus(KubeStruct, frozen=True, kw_only=True):
    """What the controller has reported."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[dict[str, Any], ...] = ()


class RollingUpdate(KubeStruct, frozen=True, kw_only=True):
    """How far a rollout may leave the wanted number, up and down."""

    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class Strategy(KubeStruct, frozen=True, kw_only=True):
    """How old pods are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentView(OwnerView, frozen=True, kw_only=True, gc=False):
    """A Deployment; its template is kept as JSON."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    replicas: int = 1
    paused: bool = False
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = FOREVER
    progress_deadline_seconds: int = FOREVER
    raw_selector: bytes = b"{}"
    template: bytes = b"{}"
    status: DeploymentStatus = DeploymentStatus()

    @property
    def has_deadline(self) -> bool:
        """Whether a rollout without progress is reported at some time."""
        return self.progress_deadline_seconds != FOREVER

    @property
    def is_rolling(self) -> bool:
        """Whether old and new pods run side by side during a rollout."""
        return self.strategy.type == "RollingUpdate"


class _Spec(KubeStruct, frozen=True, kw_only=True):
    replicas: int | None = 1
    paused: bool = False
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None
    progress_deadline_seconds: int | None = None
    selector: msgspec.Raw = shared.ABSENT
    template: msgspec.Raw = msgspec.Raw(b"{}")


class _Deployment(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: DeploymentStatus = DeploymentStatus()


_decoder: Final = msgspec.json.Decoder(_Deployment)


def view(raw: bytes) -> tuple[DeploymentView, int]:
    """The Deployment's view and revision."""
    found = _decoder.decode(raw)
    meta, spec = found.metadata, found.spec
    seen = DeploymentView(
        **identity(meta),
        generation=meta.generation,
        labels=shared.labels(bytes(meta.labels)),
        annotations=shared.annotations(bytes(meta.annotations)),
        replicas=1 if spec.replicas is None else spec.replicas,
        paused=spec.paused,
        strategy=spec.strategy,
        min_ready_seconds=spec.min_ready_seconds,
        revision_history_limit=_or_forever(spec.revision_history_limit),
        progress_deadline_seconds=_or_forever(spec.progress_deadline_seconds),
        selector=shared.selector(bytes(spec.selector)),
        raw_selector=bytes(spec.selector) or b"{}",
        template=shared.template(bytes(spec.template)),
        status=found.status,
    )
    return seen, revision(meta.resource_version)


def _or_forever(value: int | None) -> int:
    return FOREVER if value is None else value
