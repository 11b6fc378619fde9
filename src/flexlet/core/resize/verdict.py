"""The answers a node can give to a resize. A refusal is a value, never an exception.

Separate from the rules that give them, so that every rule can return one without knowing the others.
"""

import msgspec

from flexlet.api.units import PodUid


class Granted(msgspec.Struct, frozen=True, tag=True):
    """The new size is the pod's from now on."""


class Deferred(msgspec.Struct, frozen=True, tag=True):
    """Not now; `detail` is the one word of the rule that refused (OutOfcpu)."""

    detail: str
    message: str


class Infeasible(msgspec.Struct, frozen=True, tag=True):
    """Never on this node; `detail` labels the metric."""

    detail: str
    message: str


class Preempting(msgspec.Struct, frozen=True, tag=True):
    """Granted as soon as these pods are gone; empty while those chosen before are still leaving."""

    victims: tuple[PodUid, ...]


Refusal = Deferred | Infeasible | Preempting
Verdict = Granted | Refusal
