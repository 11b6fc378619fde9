"""The books of a node that starts: from its state files, made to match the hardware that is there now."""

from collections.abc import Mapping, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.files import Files
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import Managers


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """The books, and what had to be done to them."""

    managers: Managers
    repairs: tuple[str, ...] = ()
    """Sentences for the log: what did not match and how it was mended."""
    spoiled: tuple[str, ...] = ()
    """Names of files that cannot be believed; the caller keeps each beside as ``.bad``."""


def start(
    settings: ManagerSettings,
    machine: Machine,
    files: Files,
    running: Mapping[str, Mapping[str, CpuSet]],
    claims: Sequence[PodClaim],
) -> Started:
    """The books to begin with; ConfigError for settings that cannot work, never for files that do not match.

    `running` are the CPU sets of running containers by pod uid and container: what a spoiled file is rebuilt from.
    `claims` are the pods that are to stay, most important first; everybody else's entries are dropped.
    """
    raise NotImplementedError(settings, machine, files, running, claims)
