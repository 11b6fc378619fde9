"""Keeping new pods away while others have to leave: a taint on the Node.

Taints are one list that others write too, so it is replaced as a whole and only if nobody wrote meanwhile.
Clusters with the admission plugin NodeRestriction do not let nodes touch their own taints: then the lowered
allocatable, which is published before anybody leaves, has to do alone.
"""

from typing import Any, Final

from flexlet.core.actions import PatchObject
from flexlet.core.refs import NODES

Object = dict[str, Any]

RESIZING_TAINT: Final = "flexlet.io/resizing"
_REFUSED: Final = (403, 422)
_CONFLICT: Final = 409


class Door:
    """The taint of one node: as it should be, and whether we may write it."""

    def __init__(self) -> None:
        self._forbidden = False
        self._outrun = False

    def refused(self, code: int) -> None:
        """The server said no; a fault is tried again with the next report."""
        self._forbidden = self._forbidden or code in _REFUSED
        self._outrun = code == _CONFLICT

    def must_hurry(self) -> bool:
        """The Node was seen; whether to try again at once, because somebody else wrote it before we could."""
        outrun, self._outrun = self._outrun, False
        return outrun

    def decide(self, node: Object, *, closed: bool) -> PatchObject | None:
        """The patch that closes or opens the node, None if it is as it should be."""
        taints: list[Object] = node.get("spec", {}).get("taints") or []
        others = [taint for taint in taints if taint.get("key") != RESIZING_TAINT]
        if self._forbidden or (len(others) < len(taints)) == closed:
            return None
        wanted = [*others, {"key": RESIZING_TAINT, "effect": "NoSchedule"}] if closed else others
        metadata = node["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": wanted or None}}
        return PatchObject(ref=NODES, name=metadata["name"], patch=body)


def is_ours(action: object) -> bool:
    """Whether a patch was made here."""
    return isinstance(action, PatchObject) and action.ref == NODES and "spec" in action.patch
