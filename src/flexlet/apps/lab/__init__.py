"""Lab machines, wired: images, QEMU, the guest.

`running` is a machine for as long as a process needs it (``flexlet up``); `machines` are those that stand on
their own (``flexlet lab create``).
"""

from flexlet.apps.lab.running import Machine, running

__all__ = ["Machine", "running"]
