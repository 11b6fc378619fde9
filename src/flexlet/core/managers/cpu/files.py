"""The state file ``cpu_manager_state``, byte for byte as kubelets of 1.36 and 1.37 write it."""

from collections.abc import Mapping

import msgspec

from flexlet.core.managers.state import CpuState


class CpuFile(msgspec.Struct, frozen=True):
    """A file that can be believed: its version (1 to 4) and the book in it, without `reserved`."""

    version: int
    state: CpuState


class Spoiled(msgspec.Struct, frozen=True):
    """A file that cannot be believed, and why; keep a copy and `repair.rebuild` the book."""

    why: str


def read(text: str, names: Mapping[str, tuple[str, str]] | None = None) -> CpuFile | Spoiled:
    """The file. `names` gives pod uid and container of a container id, which is all that version 1 knows."""
    raise NotImplementedError(text, names)


def write(state: CpuState, version: int = 4) -> str:
    """The text of the file; version 1 cannot be written and becomes version 2, as upstream does it."""
    raise NotImplementedError(state, version)


def policy_mismatch(state: CpuState, policy: str) -> str | None:
    """The kubelet's words if the file was written under another policy."""
    raise NotImplementedError(state, policy)
