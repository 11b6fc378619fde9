"""One host, several agents: what each of them may offer of what pods get of the machine (balloon.md §10).

Every agent sees the whole machine. What the host keeps for itself comes off once, the rest is cut into equal
parts, rounded down, so that all parts together never exceed it. The number of pods and what devices offer is not
cut: it is each agent's own.
"""

import re
from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, is_hugepages
from flexlet.errors import ConfigError

_FORM: Final = re.compile(r"([1-9][0-9]*)/([1-9][0-9]*)")
_SHARED: Final = (MEMORY, EPHEMERAL_STORAGE, "pid")
_MOST: Final = 1000


class Share(msgspec.Struct, frozen=True):
    """Agent `index` of so many, counted from one."""

    index: int = 1
    of: int = 1


WHOLE: Final = Share()


def parse(text: str) -> Share:
    """``2/4``; ConfigError for anything else."""
    found = _FORM.fullmatch(text)
    share = None if found is None else Share(int(found[1]), int(found[2]))
    if share is None or not share.index <= share.of <= _MOST:
        raise ConfigError(f"cannot read share {text!r}: write i/N, such as 2/4 for the second of four agents")
    return share


def divided(amounts: ResourceList, share: Share) -> ResourceList:
    """One part of what there is."""
    if share.of == 1:
        return amounts
    return {name: _part(name, amount, share.of) for name, amount in amounts.items()}


def _part(name: str, amount: Quantity, of: int) -> Quantity:
    if name == CPU:
        return Quantity.of_milli(amount.milli // of)
    if is_hugepages(name):
        page = Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value
        return Quantity.of_bytes(amount.value // of // page * page)
    return Quantity.of_bytes(amount.value // of) if name in _SHARED else amount
