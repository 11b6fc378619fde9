"""The managers' state files, ``cpu_manager_state`` and ``memory_manager_state``, as texts.

Byte for byte those of the kubelet, so that a node can change hands in both directions. Reading and writing the
disk is the caller's: one write per change of the books, to a temporary file that is renamed.
"""

from typing import Final

import msgspec

from flexlet.core.managers.cpu import files as cpu_files
from flexlet.core.managers.memory import files as memory_files
from flexlet.core.managers.state import Managers

CPU_FILE: Final = "cpu_manager_state"
MEMORY_FILE: Final = "memory_manager_state"


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of both files; None: there is no such file."""

    cpu: str | None = None
    memory: str | None = None

    def by_name(self) -> dict[str, str]:
        """The texts by file name."""
        named = {CPU_FILE: self.cpu, MEMORY_FILE: self.memory}
        return {name: text for name, text in named.items() if text is not None}


def texts(managers: Managers) -> Files:
    """What the files must hold, each in the version in which it was found."""
    return Files(
        cpu=cpu_files.write(managers.cpu, managers.cpu_version),
        memory=memory_files.write(managers.memory, managers.memory_version),
    )
