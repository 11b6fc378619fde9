"""The pods of a node as a change of its size sees them."""

from collections.abc import Mapping

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.agent.admission import is_leaving
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import World, active
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.critical import is_critical
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.qos import recorded_qos_class

DEFAULT_GRACE_S = 30


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that was let in and has not ended."""

    pod: Pod
    """As it runs: with the resources that were allocated to it, and with where it came from."""
    leaving: bool = False
    """Whether it was asked to go already, by whomever."""
    running: Mapping[str, str] = {}
    """The containers that run now: name and id."""

    @property
    def uid(self) -> str:
        """The pod's."""
        return self.pod.metadata.uid

    @property
    def name(self) -> str:
        """As people say it: ``namespace/name``."""
        return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"

    @property
    def requests(self) -> ResourceList:
        """What it holds."""
        return pod_requests(self.pod)

    @property
    def qos(self) -> str:
        """Its QoS class."""
        return recorded_qos_class(self.pod)

    @property
    def priority(self) -> int:
        """Its priority; a pod that names none has 0."""
        return self.pod.spec.priority or 0

    @property
    def is_balloon(self) -> bool:
        """Whether it only keeps room away from others."""
        return is_balloon(self.pod)

    @property
    def is_critical(self) -> bool:
        """Whether it is never ended for lack of room."""
        return is_critical(self.pod)

    @property
    def grace_s(self) -> int:
        """How long it asked to be given for its end."""
        own = self.pod.spec.termination_grace_period_seconds
        return DEFAULT_GRACE_S if own is None else own


def tenants(world: World) -> tuple[Tenant, ...]:
    """Everybody who holds room now, or will as soon as the ledger has it on disk."""
    return tuple(
        _tenant(record, world)
        for record in active(world).values()
        if record.granted is not None or (record.admission == ADMITTED and record.allocation is not None)
    )


def _tenant(record: PodRecord, world: World) -> Tenant:
    held = msgspec.structs.replace(record, allocation=record.granted or record.allocation)
    shown = () if record.shown is None else record.shown.running
    return Tenant(
        pod=as_allocated(held, world.setup),
        leaving=is_leaving(record),
        running={run.name: run.id for run in reversed(shown)},
    )
