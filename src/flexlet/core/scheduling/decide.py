"""One round of scheduling: the waiting pods that may fit now, most important first.

Pods of equal signature are placed as a group: the nodes are filtered and scored once, and after each placement
only the node that took the pod is looked at again. Pods whose answer depends on their neighbours (host ports,
affinity between pods, hard spread) are looked at one by one.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final

from flexlet.core.faults import LookFault
from flexlet.core.scheduling import filters, message, preemption
from flexlet.core.scheduling import score as scoring
from flexlet.core.scheduling.draft import Draft
from flexlet.core.scheduling.interpod import InterPod
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.plan import Action, Bind, Plan, Preempt, Unschedulable
from flexlet.core.scheduling.pods import WaitingPod
from flexlet.core.scheduling.spread import Spread
from flexlet.core.scheduling.world import World

BATCH: Final = 512
ENOUGH_NODES: Final = 100
"""As many fitting nodes are compared at least; in a large cluster the best of all is not worth looking at all."""


def decide(world: World, batch: int = BATCH) -> Plan:
    """What to do about the pods that are ready to be tried; the world is not changed."""
    ready = sorted((world.waiting[uid] for uid in world.ready), key=_queue_order)
    draft = Draft(world)
    actions: list[Action] = []
    faults: list[LookFault] = []
    for _, members in groupby(ready[:batch], key=lambda pod: pod.signature):
        group = list(members)
        try:
            actions += list(_place_group(draft, group))
        except Exception as error:  # noqa: BLE001  whatever it is, the pods of other groups can be placed
            actions += [_failed(pod, error) for pod in group]
            faults += [LookFault(_key(pod), error) for pod in group]
    return Plan(tuple(actions), more=len(ready) > batch, faults=tuple(faults))


def _key(pod: WaitingPod) -> str:
    return f"{pod.pod.metadata.namespace}/{pod.pod.metadata.name}"


def _failed(pod: WaitingPod, error: Exception) -> Unschedulable:
    meta = pod.pod.metadata
    text = f"the scheduler cannot handle this pod: {type(error).__name__}: {error}"
    return Unschedulable(meta.uid, meta.namespace, meta.name, text)


def _queue_order(pod: WaitingPod) -> tuple[int, str, str, str]:
    meta = pod.pod.metadata
    return (-pod.priority, meta.creation_timestamp or "", meta.namespace, meta.name)


def _place_group(draft: Draft, group: Sequence[WaitingPod]) -> Iterator[Action]:
    if not _is_simple(draft, group[0]):
        for pod in group:
            yield _place_alone(draft, pod)
        return
    entries = _entries(draft, group[0])
    heap = list(islice(entries, max(ENOUGH_NODES, len(group))))
    heapq.heapify(heap)
    for index, pod in enumerate(group):
        if not heap and (more := next(entries, None)) is not None:
            heap = [more]
        if not heap:
            yield from _wait_all(draft, group[index:])
            return
        _, name = heapq.heappop(heap)
        draft.place(pod, name)
        yield _bind(pod, name)
        again = _entry(draft, pod, draft.node(name))
        if again is not None:
            heapq.heappush(heap, again)


def _entries(draft: Draft, pod: WaitingPod) -> Iterator[tuple[float, str]]:
    """The nodes that fit, from another one on each time, so that a few looked at are not always the same."""
    nodes = tuple(draft.nodes())
    start = draft.world.placed % len(nodes) if nodes else 0
    for node in (*nodes[start:], *nodes[:start]):
        entry = _entry(draft, pod, node)
        if entry is not None:
            yield entry


def _is_simple(draft: Draft, pod: WaitingPod) -> bool:
    """Whether placing one pod of the group changes the answer for its siblings on that node only."""
    return not (pod.ports or draft.has_promises or _looks_around(draft, pod))


def _looks_around(draft: Draft, pod: WaitingPod) -> bool:
    """Whether pods on other nodes have a say in where this one goes."""
    return bool(
        draft.anti_affinity or pod.affinity or pod.anti_affinity or pod.pod.spec.topology_spread_constraints
    )


def _entry(draft: Draft, pod: WaitingPod, node: NodeInfo) -> tuple[float, str] | None:
    """A heap entry (best first) if the pod fits the node, else None."""
    if filters.static_reason(pod, node) or filters.fit_reasons(pod, node, draft.reserved(pod, node.name)):
        return None
    return (-scoring.score(pod, node, scoring.preferred_weight(pod)), node.name)


def _wait_all(draft: Draft, group: Sequence[WaitingPod]) -> Iterator[Action]:
    """Equal pods wait for equal reasons; each may still make room for itself by preemption."""
    told: Action | None = None
    for pod in group:
        told = _make_room(draft, pod) if told is None or isinstance(told, Preempt) else _retold(told, pod)
        yield told


def _retold(told: Action, pod: WaitingPod) -> Action:
    if not isinstance(told, Unschedulable):
        raise TypeError(told)
    meta = pod.pod.metadata
    return Unschedulable(meta.uid, meta.namespace, meta.name, told.message)


def _place_alone(draft: Draft, pod: WaitingPod) -> Action:
    neighbours = _Neighbours(draft, pod)
    fitting = [node for node in draft.nodes() if not neighbours.reasons(node)]
    if not fitting:
        return _make_room(draft, pod)
    weight = scoring.preferred_weight(pod)
    best = min(fitting, key=lambda node: (-scoring.score(pod, node, weight), node.name))
    draft.place(pod, best.name)
    return _bind(pod, best.name)


class _Neighbours:
    """All filters for one pod, with what depends on other pods prepared once."""

    def __init__(self, draft: Draft, pod: WaitingPod, instead: NodeInfo | None = None) -> None:
        nodes: tuple[NodeInfo, ...] = ()
        if _looks_around(draft, pod):
            nodes = tuple(instead if instead and node.name == instead.name else node for node in draft.nodes())
        self._draft = draft
        self._pod = pod
        self._interpod = InterPod(pod, nodes, draft.world.namespaces)
        self._spread = Spread(pod, nodes)

    def reasons(self, node: NodeInfo) -> list[str]:
        """Every reason of the first filter that refuses, as kube-scheduler reports them."""
        pod = self._pod
        static = filters.static_reason(pod, node)
        if static:
            return [static]
        if ports := filters.ports_reason(pod, node):
            return [ports]
        if short := filters.fit_reasons(pod, node, self._draft.reserved(pod, node.name)):
            return short
        reason = self._spread.reason(node) or self._interpod.reason(node)
        return [reason] if reason else []


def _make_room(draft: Draft, pod: WaitingPod) -> Action:
    """End less important pods if that helps, else say why the pod waits."""
    neighbours = _Neighbours(draft, pod)
    reasons = [reason for node in draft.nodes() for reason in neighbours.reasons(node)]
    if not preemption.is_eligible(pod):
        return _wait(draft, pod, reasons, message.NOT_ELIGIBLE)
    candidates, outcome = _candidates(draft, pod)
    chosen = preemption.best(candidates)
    if chosen is None or _already_promised(draft, pod):
        return _wait(draft, pod, reasons, message.preemption_outcome(draft.size, outcome) if draft.size else "")
    draft.promise(pod, chosen.node)
    victims = tuple((victim.namespace, victim.name, victim.uid) for victim in chosen.victims)
    meta = pod.pod.metadata
    return Preempt(meta.uid, meta.namespace, meta.name, chosen.node, victims)


def _candidates(draft: Draft, pod: WaitingPod) -> tuple[list[preemption.Candidate], list[str]]:
    allowed = {key: budget.disruptions_allowed for key, budget in draft.world.budgets.items()}
    found: list[preemption.Candidate] = []
    outcome: list[str] = []
    for node in draft.nodes():
        if filters.static_reason(pod, node) or filters.exceeds_allocatable(pod, node):
            outcome.append(message.NOT_HELPFUL)
            continue
        fits = _fits_for(draft, pod)
        candidate = preemption.candidate(pod, node, fits, draft.world.budgets_of, allowed)
        if candidate is None:
            outcome.append(message.NO_VICTIMS)
        else:
            found.append(candidate)
    return found, outcome


def _fits_for(draft: Draft, pod: WaitingPod) -> preemption.Fits:
    return lambda node: not _Neighbours(draft, pod, instead=node).reasons(node)


def _already_promised(draft: Draft, pod: WaitingPod) -> bool:
    """Victims of an earlier round are still leaving: ending more would be waste."""
    name = draft.world.nominated.get(pod.uid)
    node = draft.world.nodes.get(name) if name else None
    return node is not None and any(p.terminating and p.priority < pod.priority for p in node.pods.values())


def _bind(pod: WaitingPod, node: str) -> Bind:
    meta = pod.pod.metadata
    return Bind(meta.uid, meta.namespace, meta.name, node)


def _wait(draft: Draft, pod: WaitingPod, reasons: Iterable[str], outcome: str) -> Unschedulable:
    meta = pod.pod.metadata
    return Unschedulable(meta.uid, meta.namespace, meta.name, message.fit_error(draft.size, reasons, outcome))
