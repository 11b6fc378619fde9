"""The words of a prepared unplug: how far it is, what is known, what to do, what to offer (see `prepared`)."""

from typing import Literal

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.units import Bytes
from flexlet.core.hotplug.settling import Situation
from flexlet.core.hotplug.wish import Target
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import OnlineAs, Part
from flexlet.core.managers.resync import Move, Write
from flexlet.core.managers.state import Managers

Phase = Literal["idle", "evicting", "offlining", "ready", "restoring", "refused"]


class Prepared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the node is; what the file of generations keeps of it."""

    phase: Phase = "idle"
    wish: str = ""
    """The annotation that is being served, was served or was refused: the same one is not taken up twice."""
    target: Target | None = None
    parts: tuple[Part, ...] = ()
    """Those that shall go, in this order."""
    stubborn: tuple[Part, ...] = ()
    """Those that the kernel refused to let go."""
    movable: tuple[Part, ...] = ()
    """Those among them that were in a movable zone, and shall be again if they come back."""
    since: float = 0.0
    """When the present phase began."""
    asked: dict[str, float] = {}
    """Pods whose eviction was asked for: when it may be asked for again, by uid."""
    blocked: dict[str, str] = {}
    """Pods whose eviction was refused, by uid: which one and why."""
    why: str = ""
    """Why the wish was refused."""

    @property
    def blockers(self) -> str:
        """Who does not leave, and why; empty if nobody refused."""
        return "; ".join(self.blocked[uid] for uid in sorted(self.blocked))


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What is known now."""

    wish: str = ""
    """The annotation, empty if there is none."""
    machine: Machine
    generation: int = 0
    """The one that was published last."""
    published: bool = True
    """Whether that is the machine's size: what went offline has become a generation."""
    situation: Situation
    movable: frozenset[int] = frozenset()
    """Blocks of memory in a movable zone."""


class Evict(msgspec.Struct, frozen=True, tag=True, tag_field="step"):
    """Ask the API to evict a pod, with all the grace it wants; a refusal (429) is asked again later."""

    uid: str
    namespace: str
    name: str


class DrainCpus(msgspec.Struct, frozen=True, tag=True, tag_field="step", kw_only=True):
    """Move everybody off the CPUs that are to go: save the books, pin the containers, use the books."""

    managers: Managers
    reassigned: tuple[Move, ...] = ()
    """Containers that are given other CPUs for their own."""
    cpusets: tuple[Write, ...] = ()
    memory: tuple[Move, ...] = ()


class FreeMemory(msgspec.Struct, frozen=True, tag=True, tag_field="step"):
    """Squeeze all pods to what will be left; if they use more all the same, tell `crowded` and decide anew."""

    limit: Bytes
    wait_s: float


class TakeOffline(msgspec.Struct, frozen=True, tag=True, tag_field="step"):
    """Take one part offline, and tell `switched`; if it refuses, leave the other steps and decide anew."""

    part: Part
    timeout_s: float


class BringOnline(msgspec.Struct, frozen=True, tag=True, tag_field="step"):
    """Bring one part back, and tell `switched`; if it refuses, the others come all the same."""

    part: Part
    as_: OnlineAs = "online"


class UndoDrain(msgspec.Struct, frozen=True, tag=True, tag_field="step", kw_only=True):
    """Let everybody use all CPUs of the machine again."""

    managers: Managers
    cpusets: tuple[Write, ...] = ()
    memory: tuple[Move, ...] = ()


PrepareStep = Evict | FreeMemory | DrainCpus | TakeOffline | BringOnline | UndoDrain


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What the node offers from now on, what to do, and when to ask again; not while steps are being taken."""

    state: Prepared
    """To be saved before the steps are taken."""
    steps: tuple[PrepareStep, ...] = ()
    ceiling: ResourceList = {}
    """Allocatable is at most this, in the cluster and for the node's own admission; empty: no less than usual."""
    unplug_ready: int = 0
    """The generation of ``flexlet.io/unplug-ready``; 0: nothing is ready."""
    refused: str = ""
    """The message of the condition's reason UnplugRefused."""
    wake_at: float | None = None

    @property
    def closed(self) -> bool:
        """Whether new pods must stay away."""
        return bool(self.ceiling)
