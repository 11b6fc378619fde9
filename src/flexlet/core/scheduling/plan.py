"""What the scheduler wants done; plain data, so it can be printed, journalled and replayed."""

import msgspec

from flexlet.core.faults import LookFault


class Bind(msgspec.Struct, frozen=True, tag=True):
    """Give a pod its node."""

    uid: str
    namespace: str
    name: str
    node: str


class Preempt(msgspec.Struct, frozen=True, tag=True):
    """End less important pods on a node and promise the room to a waiting one."""

    uid: str
    namespace: str
    name: str
    node: str
    victims: tuple[tuple[str, str, str], ...]
    """(namespace, name, uid) of each pod to end."""


class Unschedulable(msgspec.Struct, frozen=True, tag=True):
    """Tell a pod why it waits."""

    uid: str
    namespace: str
    name: str
    message: str


Action = Bind | Preempt | Unschedulable


class Plan(msgspec.Struct, frozen=True):
    """One round's actions, in the order they must be started; `more` says pods are left for another round."""

    actions: tuple[Action, ...] = ()
    more: bool = False
    faults: tuple[LookFault, ...] = ()
    """Pods that could not even be looked at; each is told so, as one that fits nowhere is."""
