"""What may happen in any random life of a node: drawn beforehand as values, and made to happen here."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from flexlet.adapters.sim import refusals
from flexlet.errors import HostError
from flexlet.testing import SimulatedNode

_DEATH_S: Final = 20.0
"""A quiet agent that has no deeds left to do is killed after so long."""


class Crash(msgspec.Struct, frozen=True, tag=True):
    """A container of one of the pods ends by itself."""

    which: int


class Refuse(msgspec.Struct, frozen=True, tag=True):
    """One of the next calls of this method fails, before or after it was carried out."""

    method: str
    nth: int
    lost_answer: bool


class Wait(msgspec.Struct, frozen=True, tag=True):
    """Nothing happens."""

    seconds: float


def refusing(methods: Sequence[str], most: int) -> st.SearchStrategy[Refuse]:
    """Any of the next calls, up to `most`, of any of these methods."""
    return st.builds(Refuse, st.sampled_from(methods), st.integers(1, most), st.booleans())


def waiting(*seconds: float) -> st.SearchStrategy[Wait]:
    """As long as any of these."""
    return st.builds(Wait, st.sampled_from(seconds))


def picked(names: Iterable[str], which: int) -> str | None:
    """One of them, whatever number was drawn; None if there is nobody."""
    found = list(names)
    return found[which % len(found)] if found else None


def refuse(node: SimulatedNode, what: Refuse) -> None:
    """Let it happen: the host refuses what is written, the runtime everything else."""
    text = f"{what.method} does not want to"
    fault = HostError(text) if what.method == "write" else refusals.fault(text)
    node.sim.trouble.fail(what.method, fault, nth=what.nth, lost_answer=what.lost_answer)


async def die(node: SimulatedNode, deeds: int) -> None:
    """Let the agent die after so many more deeds, or now; nobody follows it yet."""
    if deeds:
        node.line.dies_after = deeds
        died = asyncio.ensure_future(node.line.died.wait())
        await asyncio.wait({died}, timeout=_DEATH_S)
        died.cancel()
    await node.kill()
