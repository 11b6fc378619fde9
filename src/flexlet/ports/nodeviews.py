"""What the node's endpoint asks the agent: who is here, what to measure, whether all is well.

Answers come from what the agent already knows and never wait. Pods are found by name as the API names them; a
static pod answers to the uid of its mirror, too.
"""

from typing import Protocol

import msgspec

from flexlet.core.logs.runs import Reported
from flexlet.core.stats.sources import NodeSource


class Run(msgspec.Struct, frozen=True):
    """One run of a container that the runtime still knows."""

    id: str
    log_path: str
    is_running: bool = False


class ContainerView(msgspec.Struct, frozen=True, kw_only=True):
    """A container of a pod's spec, and its runs."""

    name: str
    tty: bool = False
    stdin: bool = False
    reported: Reported | None = None
    """Its status in the API; None before there is one."""
    runs: tuple[Run, ...] = ()
    """Newest first."""

    @property
    def running_id(self) -> str:
        """The run to talk to; empty if none runs."""
        return next((run.id for run in self.runs if run.is_running), "")


class PodView(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that should run here."""

    namespace: str
    name: str
    uid: str
    mirror_uid: str = ""
    sandbox_id: str = ""
    """The newest sandbox; empty if there is none."""
    containers: tuple[ContainerView, ...] = ()

    def container(self, name: str) -> ContainerView | None:
        """A container, init or ephemeral ones too."""
        return next((each for each in self.containers if each.name == name), None)

    def is_called(self, uid: str) -> bool:
        """Whether the uid, if one is given, is this pod's."""
        return uid in {"", self.uid, self.mirror_uid}


class NodeViews(Protocol):
    """The agent as its endpoint sees it."""

    def health(self) -> str:
        """What is wrong with the agent's own loop; empty if nothing is."""
        ...

    def pod(self, namespace: str, name: str) -> PodView | None:
        """A pod that should run here."""
        ...

    def is_running(self, container_id: str) -> bool:
        """Whether a run goes on; while the runtime is away, what was last known."""
        ...

    def desired_pods(self) -> bytes:
        """All pods that should run here, as the JSON of a PodList."""
        ...

    def running_pods(self) -> bytes:
        """All pods that the runtime runs, as the JSON of a PodList."""
        ...

    def configuration(self) -> bytes:
        """The KubeletConfiguration in effect, as JSON."""
        ...

    def to_measure(self) -> NodeSource:
        """What there is to measure now."""
        ...
