"""The host's ledger: one small file in which every agent of a host writes what its pods may use (balloon.md §10).

An agent advertises the whole host, and its balloon is what the others have. What it may really use is the smaller
of what its balloon leaves and what the ledger grants, so the order in which balloons move cannot overload the
host: who deflates first is granted the deflate, and gets the size when another one has given it back. An agent
without a balloon has its equal part. One that died keeps its share until its lease ends.

Must stay true: the shares that hold never exceed what the host has for pods, whoever asks for what in which order.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.core.machine.sharing import Share as Part
from flexlet.core.nodesize import shares, sizes
from flexlet.core.nodesize.shares import Ledger, Share
from flexlet.core.nodesize.sizes import Amounts

LEASE_S: Final = 600.0
"""How long the pods of a dead agent are taken to run on."""
RENEW_S: Final = 60.0


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks the ledger for."""

    agent: str
    whole: Amounts
    """What the host has for the pods of all agents."""
    wanted: Amounts


def begun(raw: bytes | None, agent: str, whole: Amounts, part: Part, now: float) -> Claim:
    """What an agent that starts asks for: what it had if that still holds, else its part."""
    known = _shares(raw).get(agent)
    wanted = known.effective if known is not None and known.until > now else portion(whole, part)
    return Claim(agent=agent, whole=whole, wanted=wanted)


def wanted(effective: Amounts | None, held: Mapping[str, int], whole: Amounts, part: Part) -> Amounts:
    """What an agent needs: what its balloons leave, else its part; and what its pods have they have."""
    size = portion(whole, part) if effective is None else effective
    return {name: max(size[name], held.get(name, 0)) for name in sizes.RESOURCES}


def portion(whole: Amounts, part: Part) -> Amounts:
    """One of equal parts, rounded down."""
    return {name: amount // part.of for name, amount in whole.items()}


def claimed(raw: bytes | None, claim: Claim, now: float) -> tuple[bytes, Amounts]:
    """The file with as much of a claim as is free, and that."""
    ledger = Ledger(host=claim.whole, shares=_shares(raw))
    after, _ = shares.claim(ledger, claim.agent, claim.wanted, now + LEASE_S, now)
    return decode.to_json(after.shares), after.shares[claim.agent].effective


def _shares(raw: bytes | None) -> dict[str, Share]:
    """InputError if the file is spoiled: nobody can guess what others have."""
    return {} if raw is None else decode.from_json(raw, dict[str, Share])
