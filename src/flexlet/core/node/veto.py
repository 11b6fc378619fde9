"""The cluster may refuse a node's new size (an admission webhook): then the node goes on with the old one.

The machine is what it is, so the agent keeps working with the new size; what it offers to others stays as it was
accepted, and the condition says so. It is asked again when the size changes and once in a while.
"""

from typing import Any, Final

Object = dict[str, Any]

REJECTED: Final = "RejectedByAPI"
AMOUNTS: Final = ("capacity", "allocatable")
_REFUSALS: Final = (400, 403, 422)
_AGAIN_S: Final = 60.0


class Veto:
    """Whether the size last sent was refused, and until when that is taken as the answer."""

    def __init__(self) -> None:
        self._sent: Object | None = None
        self._refused: Object | None = None
        self._until: float | None = None
        self.message = ""

    def sending(self, patch: Object, status: Object) -> None:
        """A report goes out; only one that changes the size can be refused for it."""
        self._sent = size_of(status) if any(name in patch for name in AMOUNTS) else None

    def failed(self, code: int, message: str) -> None:
        """A report was refused."""
        if self._sent is not None and code in _REFUSALS:
            self._refused, self._until, self.message = self._sent, None, message
        self._sent = None

    def arrived(self) -> None:
        """The server has shown the Node."""
        if self._sent is not None:
            self._sent = self._refused = None

    def holds(self, old: Object, new: Object, now: float) -> bool:
        """Whether `new` has the size that was refused, and there is an older one to stay with."""
        if self._refused is None or self._refused != size_of(new) or not all(name in old for name in AMOUNTS):
            return False
        self._until = now + _AGAIN_S if self._until is None else self._until
        if now < self._until:
            return True
        self._refused = None
        return False


def size_of(status: Object) -> Object:
    """What can be refused."""
    return {name: status.get(name) for name in AMOUNTS}
