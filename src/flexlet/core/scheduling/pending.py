"""``scheduler_pending_pods``: how many pods wait for a node, and why, under kube-scheduler's name and labels.

Counted from what the API says of them. A pod that found no room is ``unschedulable``; one that nobody
has tried yet is ``active``. Nothing is ever in ``backoff``: pods are asked again when something changes for them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api.pod import Pod
from flexlet.core.scheduling.pods import is_finished

NAME: Final = "scheduler_pending_pods"
QUEUES: Final = ("active", "backoff", "gated", "unschedulable")
_HELP: Final = "Pods that wait for a node: not tried yet, held back by gates, or tried and without room."


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_DECODER: Final = msgspec.json.Decoder(_Pod)


def is_placed(raw: bytes) -> bool:
    """Whether the JSON of a pod names a node; most do, and nothing else is made of their text."""
    return bool(_DECODER.decode(raw).spec.node_name)


def render(pods: Iterable[Pod]) -> str:
    """The Prometheus text; pods that have a node or are finished are left out."""
    found = Counter(_queue(pod) for pod in pods if not pod.spec.node_name and not is_finished(pod))
    lines = [f'{NAME}{{queue="{queue}"}} {found[queue]}\n' for queue in QUEUES]
    return f"# HELP {NAME} {_HELP}\n# TYPE {NAME} gauge\n" + "".join(lines)


def _queue(pod: Pod) -> str:
    if pod.spec.scheduling_gates:
        return "gated"
    tried = any(each.type == "PodScheduled" and each.status == "False" for each in pod.status.conditions)
    return "unschedulable" if tried else "active"
