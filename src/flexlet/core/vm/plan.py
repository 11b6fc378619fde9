"""What an in-place resize of a machine would do, before anybody does it."""

from collections.abc import Iterator

import msgspec

from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm import quotas, validation
from flexlet.core.vm.amounts import Sizes, bare
from flexlet.core.vm.bridge import Subject
from flexlet.core.vm.fieldchecks import alignment
from flexlet.core.vm.overhead import PAGE_TABLE_SHARE, Term, terms
from flexlet.core.vm.podsize import Need, need
from flexlet.core.vm.quotas import Peaks
from flexlet.core.vm.settings import Settings


class Step(msgspec.Struct, frozen=True):
    """One thing after the other: the pod's or the guest's."""

    who: str
    text: str
    pod: Need | None = None
    """What the pod has after it."""


class Hindrance(msgspec.Struct, frozen=True):
    """Why a resource cannot be changed in place."""

    resource: str
    reason: str
    message: str


class State(msgspec.Struct, frozen=True):
    """A guest of one size, its pod, and what of that is overhead."""

    guest: Sizes
    pod: Need
    overhead: list[Term]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    kind: str
    namespace: str
    name: str
    before: State
    after: State
    steps: list[Step]
    hindrances: list[Hindrance]
    notes: list[str]
    quota: Peaks
    """Charged at most, by way: beyond what all else is charged."""


def plan(subject: Subject, target: Sizes, settings: Settings) -> Plan:
    """The way from what is to what is wanted; nothing is done where something hinders it."""
    hindrances = list(_hindrances(subject, target, settings))
    before, after = (_state(subject, size, settings) for size in (subject.now, target))
    return Plan(
        kind=subject.kind,
        namespace=subject.namespace,
        name=subject.name,
        before=before,
        after=after,
        steps=[] if hindrances else list(_steps(subject, target, settings)),
        hindrances=hindrances,
        notes=list(_notes(subject, target)),
        quota=quotas.peaks(quotas.charges(before.pod), before.pod, after.pod),
    )


def _state(subject: Subject, size: Sizes, settings: Settings) -> State:
    found = need(subject.wanted, size.vcpus, size.memory, settings)
    return State(size, found, terms(subject.wanted, size.vcpus, size.memory, settings))


def _steps(subject: Subject, target: Sizes, settings: Settings) -> Iterator[Step]:
    """Pods grow before guests and shrink after them; vCPUs first, each resource by itself."""
    size = subject.now
    if target.vcpus > size.vcpus:
        more, size = target.vcpus - size.vcpus, Sizes(target.vcpus, size.memory)
        yield _patched(subject, size, settings)
        yield Step("guest", f"plug {more} vCPUs: {target.vcpus}")
    if target.memory > size.memory:
        before, size = size.memory, Sizes(size.vcpus, target.memory)
        yield _patched(subject, size, settings)
        yield Step("guest", f"plug memory: {_bytes(before)} -> {_bytes(target.memory)}")
    if target.vcpus < size.vcpus:
        yield Step("guest", f"unplug {size.vcpus - target.vcpus} vCPUs: {target.vcpus}")
    if target.memory < size.memory:
        yield Step("guest", f"unplug memory: {_bytes(size.memory)} -> {_bytes(target.memory)}")
    if size != target:
        yield _patched(subject, target, settings)


def _patched(subject: Subject, size: Sizes, settings: Settings) -> Step:
    found = bare(need(subject.wanted, size.vcpus, size.memory, settings))
    limits = [text for text in (_limit("cpu", found.cpu_limit_m), _limit("memory", found.memory_limit)) if text]
    asked = f"resize to cpu {Quantity.of_milli(found.cpu_m)}, memory {_bytes(found.memory)}"
    return Step("pod", f"{asked}{'; limits ' if limits else ''}{', '.join(limits)}", found)


def _limit(name: str, amount: int | None) -> str:
    if amount is None:
        return ""
    return f"{name} {Quantity.of_milli(amount) if name == 'cpu' else _bytes(amount)}"


def _hindrances(subject: Subject, target: Sizes, settings: Settings) -> Iterator[Hindrance]:
    """What would keep it from happening in place; only what concerns the resources that change."""
    if settings.rollout_strategy == "Stage":
        yield from _staged(subject.now, target)
        return
    boot, fixed = subject.machine, validation.not_resizable(subject.vm, subject.machine)
    if target.vcpus != subject.now.vcpus:
        if "cpu" in fixed:
            yield Hindrance("cpu", *fixed["cpu"])
        elif target.vcpus > boot.max_sockets * boot.cores * boot.threads:
            yield Hindrance("cpu", "RestartRequired", validation.HIGHER_SOCKETS)
    if target.memory != subject.now.memory:
        yield from _memory_hindrances(subject, target.memory, fixed.get("memory"))


def _staged(now: Sizes, target: Sizes) -> Iterator[Hindrance]:
    for resource in (CPU, MEMORY):
        if target.of(resource) != now.of(resource):
            text = "with vmRolloutStrategy Stage every change waits for the next start"
            yield Hindrance(resource, "RestartRequired", text)


def _memory_hindrances(subject: Subject, memory: int, fixed: tuple[str, str] | None) -> Iterator[Hindrance]:
    boot, unit = subject.machine, alignment(subject.vm.spec.template.spec.domain)
    if subject.memory_hindrance:
        yield Hindrance("memory", "NotHotpluggable", subject.memory_hindrance)
    elif fixed is not None:
        yield Hindrance("memory", *fixed)
    elif memory < boot.min_memory:
        yield Hindrance("memory", "RestartRequired", f"{validation.LOWER_MEMORY} ({_bytes(boot.min_memory)})")
    elif memory > boot.max_memory:
        yield Hindrance("memory", "RestartRequired", f"{validation.HIGHER_MEMORY} ({_bytes(boot.max_memory)})")
    elif memory % unit:
        near = f"use {_bytes(memory // unit * unit)} or {_bytes(-(-memory // unit) * unit)}"
        text = f"Guest memory must be {_bytes(unit)} aligned: {near}"
        yield Hindrance("memory", "Unaligned", text)


def _notes(subject: Subject, target: Sizes) -> Iterator[str]:
    """What is good to know and hinders nothing."""
    is_kubevirt, now = subject.kind != "FlexVM", subject.now
    if subject.unmovable:
        yield f"it cannot be migrated ({subject.unmovable}), which does not matter in place"
    if is_kubevirt and target.vcpus < now.vcpus:
        yield f"KubeVirt itself would say: {validation.REDUCED_SOCKETS}"
    if is_kubevirt and subject.unmovable and target.memory != now.memory:
        yield f"KubeVirt itself would say: {validation.NOT_MIGRATABLE}"
    if not subject.wanted.has_page_tables:
        share = _bytes(target.memory // PAGE_TABLE_SHARE)
        yield (
            f"KubeVirt counts no page tables, as resources.requests.memory is not set: the pod lacks up to {share}"
        )


def _bytes(amount: int) -> str:
    return str(Quantity.of_bytes(amount))
