"""A wish for another size of a node: the object that says it, and what has become of it."""

from typing import Any, Final, Literal

import msgspec

from flexlet.api import decode
from flexlet.api.meta import Condition
from flexlet.api.pod import ResourceList
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize, NodeSizeSpec

State = Literal["Waiting", "Done", "Refused", "Failed"]
PENDING: Final = "Pending"
"""The reason of a wish that nobody has answered."""
_UNSEEN: Final = "the controllers have not looked at it yet"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody asks for; what is not named stays as it is."""

    amounts: ResourceList
    balloon: bool = False
    """Whether it is the size of the balloon that is meant, not that of the node."""
    via: str = ""
    on_insufficient: str = ""
    deadline_s: int | None = None
    qmp: str = ""
    """The hypervisor end of the node's machine."""

    @property
    def target(self) -> str:
        """Which of both."""
        return "balloon" if self.balloon else "effective"


class Outcome(msgspec.Struct, frozen=True):
    """How far it is."""

    state: State
    reason: str = ""
    message: str = ""


def body(wish: Wish, name: str, request: str) -> dict[str, Any]:
    """A new NodeSize; `request` tells this wish from others like it."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {"name": name, "annotations": {names.REQUESTED: request}},
        "spec": _spec(wish),
    }


def patch(wish: Wish, request: str) -> dict[str, Any]:
    """The change of one that exists; a target of the other kind ends."""
    spec = _spec(wish)
    spec["target"]["effective" if wish.balloon else "balloon"] = None
    return {"metadata": {"annotations": {names.REQUESTED: request}}, "spec": spec}


def _spec(wish: Wish) -> dict[str, Any]:
    spec: dict[str, Any] = {"target": {wish.target: decode.to_value(wish.amounts)}}
    chosen = {
        "via": wish.via,
        "onInsufficient": wish.on_insufficient,
        "deadlineSeconds": wish.deadline_s,
        "machine": {"qmp": wish.qmp} if wish.qmp else None,
    }
    return spec | {key: value for key, value in chosen.items() if value}


def outcome(size: NodeSize) -> Outcome:
    """What has become of the wish that was made last."""
    if size.status.observed_generation < size.metadata.generation:
        return Outcome("Waiting", PENDING, _UNSEEN)
    ready = _held(size, "Ready")
    busy = next((each for kind in ("Resizing", "BalloonMissing") if _holds(each := _held(size, kind))), None)
    lacking = _held(size, "Insufficient")
    if ready is None or busy is not None:
        return Outcome("Waiting", *_words(busy)) if busy else Outcome("Waiting", PENDING, _UNSEEN)
    if not _holds(ready) and not _holds(lacking):
        return Outcome("Failed", ready.reason, ready.message)
    if not _is_about_this(size):
        return Outcome("Waiting", PENDING, _UNSEEN)
    if lacking is None or not _holds(lacking):
        return Outcome("Done", ready.reason, ready.message)
    return Outcome("Waiting" if lacking.reason == "Deferred" else "Refused", lacking.reason, lacking.message)


def with_wish(spec: NodeSizeSpec | None, wish: Wish) -> NodeSizeSpec:
    """The spec that a NodeSize will have: what was wanted before and is not asked for now stays."""
    spec = spec or NodeSizeSpec()
    before = getattr(spec.target, wish.target) or {} if spec.target is not None else {}
    value = decode.to_value(spec) | _spec(wish)
    value["target"] = {wish.target: decode.to_value({**before, **wish.amounts})}
    return decode.from_value(value, NodeSizeSpec)


def _is_about_this(size: NodeSize) -> bool:
    """Whether what the status says of each resource was said about the last request."""
    request = size.metadata.annotations.get(names.REQUESTED, "")
    return all(each.request == request for each in size.status.progress)


def _held(size: NodeSize, kind: str) -> Condition | None:
    return next((each for each in size.status.conditions if each.type == kind), None)


def _holds(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def _words(condition: Condition) -> tuple[str, str]:
    return condition.reason, condition.message
