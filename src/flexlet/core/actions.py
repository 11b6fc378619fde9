"""What controllers want done to the cluster, as data.

A decider returns these; the engine's executor carries them out through the Cluster port and folds the answers
back. They can be printed (`--dry-run`), journalled and replayed. `Ref` here is (group, version, plural), the same
triple the port uses.

Every deed may name the object it is done for (`on_behalf_of`, a uid), so that a refusal finds its way back to it,
and carry an event that is told once the deed is done. Deeds of one plan run side by side: what must come after
something else is decided in a later round, when the answer has been seen.
"""

from typing import Any

import msgspec

from flexlet.core.faults import LookFault

Ref = tuple[str, str, str]


class RecordEvent(msgspec.Struct, frozen=True, tag=True, tag_field="action", kw_only=True):
    """Tell people what happened to an object; repeated ones are counted, not piled up."""

    about: dict[str, str]
    """kind, apiVersion, namespace, name, uid of the object."""
    type: str
    reason: str
    message: str
    """As the event of a create it may say ``{name}``: the name the server gave."""
    component: str


class CreateObject(msgspec.Struct, frozen=True, tag=True, tag_field="action", kw_only=True):
    """POST a new object, or to a subresource (`path` = ``web/binding``)."""

    ref: Ref
    namespace: str = ""
    body: dict[str, Any]
    path: str = ""
    reason: str = ""
    on_behalf_of: str = ""
    event: RecordEvent | None = None


class PatchObject(msgspec.Struct, frozen=True, tag=True, tag_field="action", kw_only=True):
    """PATCH an object; `kind` is merge, json or strategic."""

    ref: Ref
    namespace: str = ""
    name: str
    patch: Any
    kind: str = "merge"
    subresource: str = ""
    reason: str = ""
    on_behalf_of: str = ""
    event: RecordEvent | None = None


class DeleteObject(msgspec.Struct, frozen=True, tag=True, tag_field="action", kw_only=True):
    """DELETE an object, usually with a uid precondition so that a namesake is safe."""

    ref: Ref
    namespace: str = ""
    name: str
    uid: str = ""
    resource_version: str = ""
    """Empty, or the only version of the object that may be deleted."""
    grace_seconds: int | None = None
    propagation: str = ""
    reason: str = ""
    on_behalf_of: str = ""
    event: RecordEvent | None = None


class LookUp(msgspec.Struct, frozen=True, tag=True, tag_field="action", kw_only=True):
    """GET an object past all watches; it comes back as Seen, or as Absent."""

    ref: Ref
    namespace: str = ""
    name: str
    on_behalf_of: str = ""


ApiAction = CreateObject | PatchObject | DeleteObject | LookUp | RecordEvent


class ApiPlan(msgspec.Struct, frozen=True):
    """Actions that may run side by side, and when to decide again (seconds since the epoch)."""

    actions: tuple[ApiAction, ...] = ()
    wake_at: float | None = None
    follow: tuple[Ref, ...] = ()
    """Further resources to be told about from now on."""
    faults: tuple[LookFault, ...] = ()
    """Looks at single objects that failed, for whoever counts and tells; the rest of the plan is good."""
