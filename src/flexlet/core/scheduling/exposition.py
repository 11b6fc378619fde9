"""``/metrics/resources``: what every live pod asks for, as kube-scheduler exports it.

The figures come from the functions the scheduler itself uses, so that dashboards and placement agree.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import NANO, Quantity
from flexlet.core.resources import effective
from flexlet.core.scheduling.pods import is_finished

_HEADS: Final = {
    "kube_pod_resource_request": "What a live pod asks for in all, per resource, as the scheduler counts it.",
    "kube_pod_resource_limit": "What a live pod is limited to in all, per resource, as the scheduler counts it.",
}
_BYTES: Final = {"memory", "storage", "ephemeral-storage"}


def render(pods: Iterable[Pod]) -> str:
    """The Prometheus text; finished pods are left out."""
    requests: list[str] = []
    limits: list[str] = []
    for pod in pods:
        if not is_finished(pod):
            requests += _lines("kube_pod_resource_request", pod, effective.pod_requests(pod))
            limits += _lines("kube_pod_resource_limit", pod, effective.pod_limits(pod))
    return _family("kube_pod_resource_limit", limits) + _family("kube_pod_resource_request", requests)


def _family(name: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"# HELP {name} {_HEADS[name]}\n# TYPE {name} gauge\n" + "".join(lines)


def _lines(metric: str, pod: Pod, amounts: ResourceList) -> Iterator[str]:
    meta, spec = pod.metadata, pod.spec
    priority = "" if spec.priority is None else str(spec.priority)
    who = f'namespace="{meta.namespace}",node="{spec.node_name}",pod="{meta.name}",priority="{priority}"'
    for resource, amount in sorted(amounts.items()):
        if amount:
            labels = f'{who},resource="{resource}",scheduler="{spec.scheduler_name}",unit="{_unit(resource)}"'
            yield f"{metric}{{{labels}}} {_number(resource, amount)}\n"


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    return "bytes" if resource in _BYTES or resource.startswith("hugepages-") else "integer"


def _number(resource: str, amount: Quantity) -> str:
    if resource == "cpu":
        return f"{amount.nano / NANO:g}"
    return str(amount.value)
