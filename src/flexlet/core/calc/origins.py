"""The figures of a pod for a person: one row each, with its value and where it comes from.

Rows are plain values, so that a table, a test and a page can show them alike. The sentences about totals and QoS
are in `flexlet.core.calc.reasons`.
"""

from collections.abc import Iterator

import msgspec

from flexlet.api.pod import Container, Pod
from flexlet.api.quantity import Quantity
from flexlet.core.calc import reasons
from flexlet.core.calc.figures import PodFigures, figures_of_defaulted
from flexlet.core.cgroups import cpu
from flexlet.core.cgroups.hugetlb import size_text
from flexlet.core.cgroups.oom import pod_share
from flexlet.core.cgroups.pods import pod_cgroup
from flexlet.core.critical import is_node_critical
from flexlet.core.resources.amounts import memory_bytes
from flexlet.core.resources.defaults import default_pod
from flexlet.core.resources.names import COMPUTE, CPU, MEMORY
from flexlet.core.resources.qos import BEST_EFFORT, BURSTABLE
from flexlet.core.resources.rounding import text_list
from flexlet.core.resources.statusaware import is_resize_infeasible


class Origin(msgspec.Struct, frozen=True):
    """One figure, its value, and why it has that value."""

    figure: str
    value: str
    reason: str


def origins(pod: Pod, node_memory: int) -> list[Origin]:
    """The figures of a pod as a client wrote it, each with its reason."""
    defaulted = default_pod(pod)
    figures = figures_of_defaulted(defaulted, node_memory)
    return [
        Origin("QoS class", figures.qos, reasons.qos(defaulted, figures.qos)),
        *_defaulted(pod, defaulted),
        *_requests(figures, defaulted),
        *_limits(figures, defaulted),
        *_cgroup(figures, defaulted),
        *_oom(figures, defaulted),
    ]


def _defaulted(pod: Pod, defaulted: Pod) -> Iterator[Origin]:
    """What the API server adds to what the client wrote."""
    written = (*pod.spec.containers, *pod.spec.init_containers)
    stored = (*defaulted.spec.containers, *defaulted.spec.init_containers)
    for before, after in zip(written, stored, strict=True):
        added = {n: a for n, a in after.resources.requests.items() if n not in before.resources.requests}
        if added:
            yield Origin(f"requests added to {after.name}", _listed(added), "its limits")
    if pod.spec.resources is None or defaulted.spec.resources is None:
        return
    for key in ("limits", "requests"):
        known, complete = getattr(pod.spec.resources, key), getattr(defaulted.spec.resources, key)
        added = {name: amount for name, amount in complete.items() if name not in known}
        if added:
            reason = "containers, else pod-level limits" if key == "requests" else "huge page limits of containers"
            yield Origin(f"pod-level {key} added", _listed(added), reason)


def _requests(figures: PodFigures, pod: Pod) -> Iterator[Origin]:
    for name, amount in figures.requests.items():
        yield Origin(f"{name} request", _amount(name, amount), reasons.request(name, pod))
        in_use = figures.scheduler_requests.get(name, 0)
        if in_use != amount:
            views = "allocated and actual; the resize is infeasible"
            reason = views if is_resize_infeasible(pod) else "desired, allocated and actual"
            yield Origin(f"{name} in use", _amount(name, in_use), f"per container, the largest of {reason}")


def _limits(figures: PodFigures, pod: Pod) -> Iterator[Origin]:
    for name in dict.fromkeys((*COMPUTE, *figures.limits)):
        amount = figures.limits.get(name)
        value = "unlimited" if amount is None else _amount(name, amount)
        yield Origin(f"{name} limit", value, reasons.limit(name, pod))


def _cgroup(figures: PodFigures, pod: Pod) -> Iterator[Origin]:
    values = pod_cgroup(pod, qos=figures.qos)
    shares = figures.pod_cgroup["shares"]
    weight = f"shares {shares}; the kubelet's own linear formula gives {values.weight}"
    yield Origin("cpu.weight", str(figures.pod_cgroup["cpu.weight"]), weight)
    quota = cpu.max_text(values.quota or 0)
    yield Origin("cpu.max", quota, _ceiling(pod, CPU, figures.qos, limited=values.quota is not None))
    memory = "max" if values.memory_max is None else str(values.memory_max)
    yield Origin("memory.max", memory, _ceiling(pod, MEMORY, figures.qos, limited=values.memory_max is not None))
    for size, limit in values.hugetlb.items():
        yield Origin(f"hugetlb.{size_text(size)}.max", str(limit), "huge page request")


def _ceiling(pod: Pod, name: str, qos: str, *, limited: bool) -> str:
    if limited:
        return f"the pod's {name} limit"
    if qos == BEST_EFFORT:
        return "left alone: BestEffort"
    open_ended = [
        c.name for c in (*pod.spec.containers, *pod.spec.init_containers) if not c.resources.limits.get(name)
    ]
    return f"left alone: no {name} limit in {', '.join(open_ended)}"


def _oom(figures: PodFigures, pod: Pod) -> Iterator[Origin]:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        score = figures.oom_score_adj[container.name]
        yield Origin(f"oom_score_adj of {container.name}", str(score), _oom_reason(container, figures, pod))


def _oom_reason(container: Container, figures: PodFigures, pod: Pod) -> str:
    if is_node_critical(pod):
        return "node-critical"
    if figures.qos != BURSTABLE:
        return figures.qos
    request, share = memory_bytes(container.resources.requests), pod_share(pod)
    shared = f" and {share} as its share of pod level" if share else ""
    served = "; at most that of the containers it serves" if container.is_sidecar else ""
    return f"requests {request}{shared} of {figures.node_memory} bytes{served}"


def _amount(name: str, amount: int) -> str:
    return f"{amount}m" if name == CPU else str(amount)


def _listed(amounts: dict[str, Quantity]) -> str:
    return ", ".join(f"{name} {text}" for name, text in text_list(amounts).items())
