"""The agent's picture of its whole node: every pod's record, and what concerns all of them.

Owned by one task. Pods enter when their source shows them and leave when nothing of them is left anywhere. What an
earlier agent allocated and actuated (`remembered`) is joined to a pod the moment it is seen.
"""

from collections.abc import Iterable, Mapping

import msgspec

from flexlet.api.node import Node
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.observations import PodSeen
from flexlet.core.agent.record import ADMITTED, UNDECIDED, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.managers.state import Managers
from flexlet.core.resize import conditions, triggers
from flexlet.core.resize.allocation import NOTHING, Allocation
from flexlet.core.resize.conditions import RESIZE_IN_PROGRESS
from flexlet.core.resize.pending import Waiting
from flexlet.core.resources.statusaware import RESIZE_PENDING

TERMINAL = frozenset({"Succeeded", "Failed"})


class Remembered(msgspec.Struct, frozen=True):
    """What the checkpoints say of a pod."""

    allocation: Allocation | None = None
    actuated: Allocation | None = None
    replaced: frozenset[str] = frozenset()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decisions about pods depend on."""

    setup: NodeSetup
    node: Node = Node()
    """As the API has it: labels and taints decide whether a pod may stay."""
    pods: dict[str, PodRecord] = {}
    remembered: Mapping[str, Remembered] = {}
    listed: bool = False
    """Whether every source of pods has been heard; nobody is admitted before that."""
    complete: bool = False
    """Whether pods that only the runtime knows have been met too: a stranger in the books has ended."""
    managers: Managers = Managers()
    """The books of the resource managers; a grant is in them the moment it is decided."""
    resizing: bool = False
    """Whether the node is about to have another size: nobody is let in and no resize is granted meanwhile."""
    claim: dict[str, int] | None = None
    """What the ledger of a host with several agents lets pods use here, balloons aside; None: there is none."""
    pressures: tuple[str, ...] = ()
    shutting_down: bool = False

    waiting: Waiting = Waiting()
    trigger: str = ""
    """Why waiting resizes shall be looked at now, empty if they need not."""
    look_again_at: float | None = None

    def with_pods(self, changed: Mapping[str, PodRecord]) -> "World":
        """The world with some records replaced."""
        return msgspec.structs.replace(self, pods={**self.pods, **changed}) if changed else self

    def without(self, uids: Iterable[str]) -> "World":
        """The world without some pods."""
        gone = frozenset(uids)
        return msgspec.structs.replace(self, pods={k: v for k, v in self.pods.items() if k not in gone})

    def managed(self, managers: Managers) -> "World":
        """The world with other books."""
        return self if managers is self.managers else msgspec.structs.replace(self, managers=managers)

    def because(self, trigger: str | None) -> "World":
        """The world in which waiting resizes shall be looked at; the first reason is kept."""
        return msgspec.structs.replace(self, trigger=trigger) if trigger and not self.trigger else self


def joined(world: World, seen: PodSeen, now: float) -> PodRecord:
    """The record of a pod that is seen for the first time."""
    pod = seen.pod
    known = world.remembered.get(pod.metadata.uid, Remembered())
    over = pod.status.phase in TERMINAL
    return PodRecord(
        pod=pod,
        source=seen.source,
        seen_at=now,
        unsupported=seen.unsupported,
        # One that has run to its end needs no room; whatever is left of it is only cleaned up.
        admission=ADMITTED if over else UNDECIDED,
        allocation=known.allocation,
        actuated=known.actuated or NOTHING,
        has_values=known.actuated is not None,
        replaced=known.replaced,
        doubtful=_unsettled(pod),
        resize=conditions.NONE if over else conditions.restored(pod, now),
        started_at=pod.status.start_time or "",
    )


def _unsettled(pod: NodePod) -> frozenset[str]:
    """The containers of a pod that was being resized when an earlier agent was last heard of."""
    status = pod.status
    is_settled = status.observed_generation in (0, pod.metadata.generation) and not any(
        each.type in (RESIZE_PENDING, RESIZE_IN_PROGRESS) for each in status.conditions
    )
    names = (each.name for each in (*pod.spec.init_containers, *pod.spec.containers))
    return frozenset() if is_settled else frozenset(names)


def active(world: World) -> dict[str, PodRecord]:
    """Pods that hold room: admitted or about to be, and not stopped yet."""
    return {
        uid: record
        for uid, record in world.pods.items()
        if not record.stopped and not triggers.is_terminal(record.pod)
    }
