"""Whether a write fits into the quotas of its namespace, and what they have used afterwards.

Only what the status of a quota has taken over from its spec is in force. An update is charged with what it adds;
what it gives back is found by counting anew (`measure`), so that two racing writes never free the same amount
twice. Follows ``CheckRequest`` of Kubernetes 1.36.3.
"""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO
from flexlet.api.quota import ResourceQuota
from flexlet.core.quota.claim import MUST_BE_STATED, Claim
from flexlet.core.quota.names import resource_of
from flexlet.core.quota.scopes import in_scope


class Refusal(Struct, frozen=True):
    """The write does not fit; the message is what the client reads."""

    message: str


def charge(
    quotas: Sequence[ResourceQuota], claim: Claim, old: Claim | None = None
) -> Refusal | tuple[ResourceQuota, ...]:
    """The quotas after the write, each the very same value if it is not concerned; or why it does not fit.

    `old` is the object as it is stored, for an update.
    """
    for quota in quotas:
        if problem := _problem(quota, claim):
            return Refusal(problem)
    if negative := [name for name, amount in claim.usage.items() if amount < ZERO]:
        return Refusal(f"quota usage is negative for resource(s): {_listed(negative)}")
    charged = []
    for quota in quotas:
        outcome = _charged(quota, claim, old)
        if isinstance(outcome, Refusal):
            return outcome
        charged.append(outcome)
    return tuple(charged)


def concerns(quota: ResourceQuota, claim: Claim) -> bool:
    """Whether the quota limits this kind of object, and this object is in its scope."""
    return bool(_limiting(quota, claim)) and in_scope(quota, claim.traits)


def _limiting(quota: ResourceQuota, claim: Claim) -> list[str]:
    return [name for name in quota.status.hard if resource_of(name) == claim.resource]


def _problem(quota: ResourceQuota, claim: Claim) -> str:
    """What forbids the write whatever its size, empty if nothing does."""
    if not concerns(quota, claim):
        return ""
    names = _limiting(quota, claim)
    if missing := missing_names(names, claim):
        return f"failed quota: {quota.metadata.name}: {missing}"
    if not quota.status.used.keys() >= set(names):
        return f"status unknown for quota: {quota.metadata.name}, resources: {_listed(names)}"
    return ""


def missing_names(limited: Collection[str], claim: Claim) -> str:
    """Which containers leave out what the quota limits."""
    lacking = [
        (name, ",".join(sorted(container for container, stated in claim.stated if name not in stated)))
        for name in sorted(MUST_BE_STATED.intersection(limited))
    ]
    texts = [f"{name} for: {containers}" for name, containers in lacking if containers]
    return f"must specify {'; '.join(texts)}" if texts else ""


def _charged(quota: ResourceQuota, claim: Claim, old: Claim | None) -> ResourceQuota | Refusal:
    if not concerns(quota, claim):
        return quota
    known = old is not None and concerns(quota, old)
    requested = {
        name: amount for name, amount in _added(claim, old if known else None).items() if name in quota.status.hard
    }
    if not requested:
        return quota
    used = dict(quota.status.used)
    for name, amount in requested.items():
        used[name] = used.get(name, ZERO) + amount
    exceeded = [name for name in requested if used[name] > quota.status.hard[name]]
    if exceeded:
        return Refusal(_exceeded(quota, requested, exceeded))
    return replace(quota, status=replace(quota.status, used=used))


def _added(claim: Claim, old: Claim | None) -> ResourceList:
    """What is asked for beyond what was charged before; never negative, nothing for zero."""
    before = old.usage if old is not None else {}
    delta = {name: amount - before.get(name, ZERO) for name, amount in claim.usage.items()}
    return {name: amount for name, amount in delta.items() if amount > ZERO}


def _exceeded(quota: ResourceQuota, requested: ResourceList, names: Collection[str]) -> str:
    columns = (("requested", requested), ("used", quota.status.used), ("limited", quota.status.hard))
    texts = [f"{title}: {_amounts(amounts, names)}" for title, amounts in columns]
    return f"exceeded quota: {quota.metadata.name}, {', '.join(texts)}"


def _amounts(amounts: ResourceList, names: Collection[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names) if name in amounts)


def _listed(names: Collection[str]) -> str:
    return ",".join(sorted(names))
