"""The served kind Pod."""

from collections.abc import Mapping
from typing import Final

from flexlet.apiserver.contract.kind import Kind, Subresource
from flexlet.apiserver.kinds.pod.strategy import PodStrategy
from flexlet.apiserver.kinds.pod.subresources import PodEphemeralContainers, PodResize, PodStatusUpdate

_WRITE: Final = ("get", "patch", "update")
_CONNECT: Final = ("create", "get")


def pod_kind(gates: Mapping[str, bool]) -> Kind:
    """Pods under a set of feature gates; without InPlacePodVerticalScaling there is no ``/resize``."""
    resize = (Subresource(name="resize", verbs=_WRITE, update=PodResize(gates)),)
    return Kind(
        group="",
        version="v1",
        kind="Pod",
        plural="pods",
        singular="pod",
        namespaced=True,
        strategy=PodStrategy(gates),
        schema="core.v1.Pod",
        short_names=("po",),
        categories=("all",),
        subresources=(
            Subresource(name="attach", verbs=_CONNECT, kind="PodAttachOptions"),
            Subresource(name="binding", verbs=("create",), kind="Binding"),
            Subresource(name="ephemeralcontainers", verbs=_WRITE, update=PodEphemeralContainers(gates)),
            Subresource(name="eviction", verbs=("create",), group="policy", version="v1", kind="Eviction"),
            Subresource(name="exec", verbs=_CONNECT, kind="PodExecOptions"),
            Subresource(name="log", verbs=("get",)),
            Subresource(name="portforward", verbs=_CONNECT, kind="PodPortForwardOptions"),
            *(resize if gates["InPlacePodVerticalScaling"] else ()),
            Subresource(name="status", verbs=_WRITE, update=PodStatusUpdate(gates)),
        ),
        delete_answers_object=True,
    )
