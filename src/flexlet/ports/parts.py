"""Bringing CPUs and blocks of memory online and taking them offline.

The kernel's refusal (``EBUSY``, ``EINVAL``, the part is not there any more) is a value; HostError means that
nobody could try: no permission, a read-only /sys.
"""

from typing import Protocol

from flexlet.core.machine.parts import OnlineAs, Part, PartRefused


class Parts(Protocol):
    """The switches of the machine's parts."""

    async def online(self, part: Part, as_: OnlineAs = "online") -> PartRefused | None:
        """Bring a part online; a block of memory in the zone that `as_` names. None if it is online now."""
        ...

    async def offline(self, part: Part, timeout_s: float) -> PartRefused | None:
        """Take a part offline; given up after a while, because memory in use may take for ever."""
        ...
