"""Who has to go because the machine became smaller, and what the pod and people are told.

The words are those of the kubelet's admission: a victim looks like a pod that the smaller node did not let in.
"""

from typing import Final

import msgspec

from flexlet.core.agent.record import Ending
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.tenants import Tenant
from flexlet.core.managers.state import Refusal
from flexlet.core.resize.room import out_of
from flexlet.core.resources.fit import Shortage

PREFIX: Final = "Pod was rejected: "
PRESSED_GRACE_S: Final = 1


class Victim(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that ends, and why; CPU in thousandths, others in whole units."""

    uid: str
    namespace: str
    name: str
    reason: str
    """``status.reason``."""
    message: str
    """``status.message``, with its prefix."""
    resource: str = ""
    """Of what there was too little; empty if the reason is another."""
    requested: int = 0
    used: int = 0
    capacity: int = 0
    priority: int = 0
    grace_s: int = 0
    """How long it has, by its own wish and the node's settings."""

    @property
    def why(self) -> str:
        """The message without its prefix, as the pod's event says it."""
        return self.message.removeprefix(PREFIX)


def short_of(tenant: Tenant, shortage: Shortage, settings: ResizeSettings) -> Victim:
    """The pod no longer fits."""
    found = _victim(tenant, f"OutOf{shortage.resource}", out_of(shortage), settings)
    return msgspec.structs.replace(
        found,
        resource=shortage.resource,
        requested=shortage.requested,
        used=shortage.used,
        capacity=shortage.capacity,
    )


def displaced(tenant: Tenant, refusal: Refusal, settings: ResizeSettings) -> Victim:
    """What the pod had for itself is gone, and there is no replacement."""
    found = _victim(tenant, refusal.reason, refusal.message, settings)
    return (
        msgspec.structs.replace(found, resource=refusal.reason.removeprefix("OutOf")) if _out(refusal) else found
    )


def pressed(victim: Victim) -> Victim:
    """The same victim on a node that has no time left."""
    return msgspec.structs.replace(victim, grace_s=min(victim.grace_s, PRESSED_GRACE_S))


def ending(victim: Victim) -> Ending:
    """How its record is marked: Failed for good, after its containers were stopped in the ordinary way."""
    return Ending(reason=victim.reason, message=victim.message, grace_s=victim.grace_s, disruption=victim.message)


def _out(refusal: Refusal) -> bool:
    return refusal.reason.startswith("OutOf")


def _victim(tenant: Tenant, reason: str, why: str, settings: ResizeSettings) -> Victim:
    return Victim(
        uid=tenant.uid,
        namespace=tenant.pod.metadata.namespace,
        name=tenant.pod.metadata.name,
        reason=reason,
        message=PREFIX + why,
        priority=tenant.priority,
        grace_s=min(tenant.grace_s, settings.max_grace_s),
    )
