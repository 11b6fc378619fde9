"""Which of requests and limits a balloon has; its QoS class is fixed for life, so this is chosen once per pod.

G has limits for CPU and memory, M for memory alone, R none (balloon.md §3.2). Static managers refuse to resize
Guaranteed pods, 1.33 refuses to lower memory limits, and nodes with swap refuse to resize memory without a limit.
"""

from typing import Any, Final, Literal

import msgspec

from flexlet.api import decode
from flexlet.api.meta import KubeStruct
from flexlet.core.nodesize import names, sizes
from flexlet.core.nodesize.sights import Balloon, NodeSight
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resources.names import MEMORY
from flexlet.errors import InputError

Shape = Literal["G", "M", "R"]
_NO_LOWER_LIMITS: Final = (1, 33)


class _Swap(KubeStruct, frozen=True, kw_only=True):
    swap_behavior: str = ""


class Policies(KubeStruct, frozen=True, kw_only=True):
    """The fields of a KubeletConfiguration that decide."""

    cpu_manager_policy: str = "none"
    memory_manager_policy: str = "None"
    memory_swap: _Swap = _Swap()

    @property
    def is_static(self) -> bool:
        """Whether a manager pins Guaranteed pods."""
        return self.cpu_manager_policy == "static" or self.memory_manager_policy == "Static"

    @property
    def has_swap(self) -> bool:
        """Whether Burstable pods may swap."""
        return self.memory_swap.swap_behavior == "LimitedSwap"


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: Policies = Policies()


def from_configz(raw: bytes) -> Policies:
    """What a kubelet's ``/configz`` says; InputError if it is not readable."""
    return decode.from_json(raw, _Configz).kubeletconfig


def declared(node: NodeSight) -> Policies | None:
    """What the node's annotation says, None without a readable one."""
    text = node.annotations.get(names.POLICIES)
    try:
        return decode.from_json(text, Policies) if text else None
    except InputError:
        return None


def learned(balloon: Balloon) -> Policies | None:
    """What a node's refusal says about its policies, for those whose configuration cannot be read."""
    if balloon.pending != "Infeasible":
        return None
    if 'CPU Manager policy "static"' in balloon.message or 'Memory Manager policy "Static"' in balloon.message:
        return Policies(cpu_manager_policy="static")
    if "with swap is not supported" in balloon.message:
        return Policies(memory_swap=_Swap(swap_behavior="LimitedSwap"))
    return None


def choose(policies: Policies, version: tuple[int, int]) -> Shape:
    """The shape of a new balloon."""
    if policies.is_static:
        return "M"
    if version == _NO_LOWER_LIMITS:
        return "M" if policies.has_swap else "R"
    return "G"


def replacement(balloon: Balloon, policies: Policies, version: tuple[int, int]) -> Shape | None:
    """The shape that a balloon which cannot be resized here should have instead."""
    known = learned(balloon) or policies
    return choose(known, version) if is_stuck(balloon, known) else None


def is_stuck(balloon: Balloon, policies: Policies) -> bool:
    """Whether a balloon's shape cannot be resized on its node."""
    if policies.is_static and balloon.shape == "G":
        return True
    return policies.has_swap and balloon.shape == "R"


def resources(shape: str, amounts: Amounts) -> dict[str, Any]:
    """Requests and limits of the container."""
    requests = decode.to_value(sizes.listed(amounts))
    limits = requests if shape == "G" else {MEMORY: requests[MEMORY]} if shape == "M" else {}
    return {"requests": requests, **({"limits": limits} if limits else {})}
